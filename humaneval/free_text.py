r"""Any text with blanks: how blanks are marked in it, and how a generator fills them.

Three or more underscores are a blank for a sentence. A name in brackets is a blank of that type: `[word]`,
`[ngram]`, `[sentence]`, `[paragraph]`, `[document]`. After a colon it may say what was there, which BERT
needs for its length: `[word: cereal]`. A backslash before a mark makes it ordinary text: `\____`, `\[word]`.

The command line, the page and `generators.load` all fill texts by `fill_text`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from math import inf

from humaneval.domain import (
    Drawing,
    DrawsAnew,
    Filling,
    FillsText,
    Gap,
    GappedText,
    InfillStatus,
    fault_in,
)
from humaneval.errors import InputError, UsageError
from humaneval.plugins import FAULT, calling, typed
from humaneval.text import counted

TYPES = ("document", "paragraph", "sentence", "ngram", "word")
"""The types of blanks that a mark can always name, from the largest to the smallest."""
LARGE = frozenset({"document", "paragraph"})
LONGEST = 200
"""The most tokens of an answer to a blank that may have several sentences."""
MOST_SAMPLES = 100
BLANK = "____"


@dataclass(frozen=True, slots=True)
class Filled:
    """What was written for one blank.

    `logprob` is the natural logarithm of the probability that the model gives to the tokens of the filling
    and to its end, after all that it read. It is that of the untempered model: neither the temperature nor
    the nucleus changes it. None: the generator does not say.
    """

    type: str
    text: str
    logprob: float | None
    status: InfillStatus = InfillStatus.OK
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text with all its blanks filled: the whole text, and the fillings in order.

    `pieces` is the text around the blanks, one more than there are fillings. `logprob` is the sum of the
    fillings' log-probabilities, or None if one of them is unknown.
    """

    text: str
    fillings: tuple[Filled, ...]
    logprob: float | None
    pieces: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether every blank got what belongs there."""
        return all(one.status is InfillStatus.OK for one in self.fillings)

    def __str__(self) -> str:
        return self.text


def read_marks(text: str, types: Iterable[str] = TYPES) -> GappedText:
    r"""The text with its blanks. What stands in brackets and is none of `types` is ordinary text.

    >>> found = read_marks("I ate [word] and \\[word]. ____")
    >>> [gap.type for gap in found.gaps], found.pieces
    (['word', 'sentence'], ('I ate ', ' and [word]. ', ''))
    """
    pieces, gaps, at = [""], list[Gap](), 0
    for found in _marks(types).finditer(text):
        pieces[-1] += text[at : found.start()]
        at = found.end()
        slashes = len(found["slashes"])
        pieces[-1] += "\\" * (slashes // 2)
        if slashes % 2:
            pieces[-1] += found["mark"]
            continue
        original = re.sub(r"\\(.)", r"\1", found["original"] or "", flags=re.DOTALL).strip()
        gaps.append(Gap(found["type"] or "sentence", original=original))
        pieces.append("")
    pieces[-1] += text[at:]
    return gapped(pieces, gaps)


def write_marks(text: GappedText, types: Iterable[str] = TYPES) -> str:
    r"""The text as people write it: the opposite of `read_marks`.

    >>> write_marks(GappedText("", ("Say [word]: ", "."), (Gap("word", original="hi"),)))
    'Say \\[word]: [word: hi].'
    """
    marks = _marks(types)
    pieces = [
        marks.sub(lambda found: "\\" * (2 * len(found["slashes"]) + 1) + found["mark"], piece)
        for piece in text.pieces
    ]
    for at, gap in enumerate(text.gaps):
        slashes = len(pieces[at]) - len(pieces[at].rstrip("\\"))
        before, after, last = text.pieces[at], text.pieces[at + 1], at == len(text.gaps) - 1
        apart = bool(before or not at) and bool(after or last)
        alone = apart and not (before.endswith("_") or after.startswith("_") or _open(before))
        # A backslash that stands before a blank does not escape it.
        pieces[at] += "\\" * slashes + _mark(gap, short=alone)
    return "".join(pieces)


def gapped(pieces: Iterable[str], gaps: Iterable[Gap]) -> GappedText:
    """Pieces and gaps as one text. Its random numbers depend on these alone."""
    pieces, gaps = tuple(pieces), tuple(gaps)
    whole = "\0".join((*pieces, *(gap.type for gap in gaps)))
    key = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return GappedText(f"text {key}", pieces, gaps)


def fill_text(
    generator: FillsText, text: GappedText | str, samples: int = 1, how: Drawing | None = None
) -> tuple[Candidate, ...]:
    """`samples` candidates for a text with blanks. The same seed gives the same candidates again.

    `how` sets seed, temperature and nucleus, where the generator draws. Raises UsageError for a text without
    a blank, and for a blank that the generator cannot fill.
    """
    if isinstance(text, str):
        text = read_marks(text, {*TYPES, *generator.types})
    if not 1 <= samples <= MOST_SAMPLES:
        raise UsageError(f"{samples} samples cannot be drawn", f"Draw 1 to {MOST_SAMPLES}.")
    refuse_unfit(generator, text)
    whose = f"generator {getattr(generator, 'name', type(generator).__name__)!r}"
    module = type(generator).__module__
    if how is not None and isinstance(generator, DrawsAnew):
        large = any(gap.type in LARGE for gap in text.gaps)
        with calling(whose, module):
            generator = generator.drawing(replace(how, longest=LONGEST) if large and not how.longest else how)
    asked = _as_asked(generator, text)
    texts = (replace(asked, sample=number) for number in range(1, samples + 1))
    with calling(whose, module):
        found = list(islice(generator.fill(texts), samples))
    if len(found) < samples:
        raise InputError(f"{whose} filled {len(found)} of {counted(samples, 'text')}", FAULT)
    for fillings in found:
        if fault := _fault_in(fillings, text):
            raise InputError(f"{whose} returned {fault}", FAULT)
    return tuple(
        put_together(
            text,
            [
                Filled(gap.type, one.text, _logprob(one), one.status, one.detail)
                for gap, one in zip(text.gaps, fillings, strict=True)
            ],
        )
        for fillings in found
    )


def _logprob(one: Filling) -> float | None:
    """What a generator says of a filling. A model whose numbers overflowed knows nothing of it."""
    said: float | None = one.extra.get("logprob")
    return said if said is not None and -inf < said < inf else None


def _fault_in(fillings: object, text: GappedText) -> str:
    """What is wrong with what a generator returned for the blanks of a text; empty if nothing is."""
    if not isinstance(fillings, list | tuple) or len(fillings) != len(text.gaps):
        count = len(fillings) if isinstance(fillings, list | tuple) else typed(fillings)
        return f"{count} instead of {counted(len(text.gaps), 'filling')}"
    for one in fillings:
        if not isinstance(one, Filling):
            return f"{typed(one)} instead of a filling"
        if fault := fault_in(one):
            return f"a filling {fault}"
        if not isinstance(one.extra.get("logprob"), float | int | None):
            return "a filling whose logprob is no number"
        if any("\ud800" <= each <= "\udfff" for each in one.text):
            return "a filling with half of a character"
    return ""


def put_together(text: GappedText, fillings: Iterable[Filled]) -> Candidate:
    """The text with these fillings in its blanks."""
    fillings = tuple(fillings)
    whole = text.pieces[0] + "".join(
        one.text + piece for one, piece in zip(fillings, text.pieces[1:], strict=True)
    )
    known = [one.logprob for one in fillings if one.logprob is not None]
    total = round(sum(known), 4) if len(known) == len(fillings) else None
    return Candidate(whole, fillings, total, text.pieces)


def told(candidate: Candidate) -> str:
    """The log-probabilities of a candidate, and what became of blanks that are not as they should be.

    >>> told(put_together(read_marks("A ____"), [Filled("sentence", "b.", -1.5)]))
    'log-probability −1.50'
    """
    each = ", ".join(f"{one.logprob:.2f}" for one in candidate.fillings if one.logprob is not None)
    parts = ["no log-probability"]
    if candidate.logprob is not None:
        parts = [f"log-probability {candidate.logprob:.2f}" + f" ({each})" * (len(candidate.fillings) > 1)]
    parts[0] = parts[0].replace(" -", " −").replace("(-", "(−")
    for number, one in enumerate(candidate.fillings, 1):
        if one.status is not InfillStatus.OK:
            parts.append(f"blank {number} is {one.status}" + (f": {one.detail}" if one.detail else ""))
    return "; ".join(parts)


def refuse_unfit(generator: FillsText, text: GappedText) -> None:
    """Raise UsageError unless the text has blanks, and all of them are such as the generator fills."""
    name = getattr(generator, "name", "the generator")
    if not text.gaps:
        raise UsageError(
            "the text has no blank",
            f"Write {BLANK} where a sentence is missing, or [word], [ngram], [paragraph] or [document].",
        )
    if strange := sorted({gap.type for gap in text.gaps} - {*generator.types}):
        can = ", ".join(f"[{type}]" for type in generator.types)
        raise UsageError(
            f"{', '.join(f'[{type}]' for type in strange)} cannot be filled by {name}",
            f"It fills {can}. {BLANK} is the same as [sentence].",
        )
    if getattr(generator, "needs_original", False):
        unknown = [gap.type for gap in text.gaps if not gap.original]
        if unknown:
            raise UsageError(
                f"{name} must know how long the missing text is, which"
                f" {len(unknown)} of {counted(len(text.gaps), 'blank', 'does', 'do')} not say",
                f"Write it into the mark: [{unknown[0]}: She baked a cake.]. Only its length counts.",
            )


def _as_asked(generator: FillsText, text: GappedText) -> GappedText:
    """The text as the generator gets it: with what was there only if it asks for that. One line of text gets
    the title line of the stories that it was trained on."""
    if not getattr(generator, "needs_original", False):
        text = replace(text, gaps=tuple(replace(gap, original="") for gap in text.gaps))
    heading: str = getattr(generator, "heading", "")
    lines = any("\n" in piece for piece in text.pieces)
    if not heading or lines or any(gap.type == "document" for gap in text.gaps):
        return text
    return replace(text, pieces=(heading + text.pieces[0].lstrip(), *text.pieces[1:]))


def _open(piece: str) -> bool:
    """Whether a bracket may be open at the end of a piece, so that underscores there would be in a mark."""
    closed = "\\" not in piece and piece.rfind("[") < piece.rfind("]")
    return "[" in piece and not closed


def _mark(gap: Gap, *, short: bool) -> str:
    if not gap.original:
        return BLANK if short and gap.type == "sentence" else f"[{gap.type}]"
    original = re.sub(r"([\\\[\]])", r"\\\1", gap.original)
    return f"[{gap.type}: {original}]"


def _marks(types: Iterable[str]) -> re.Pattern[str]:
    names = "|".join(map(re.escape, sorted(types)))
    return re.compile(
        # From the first backslash on: from each of thousands, all others would be read again.
        rf"(?<!\\)(?P<slashes>\\*)(?P<mark>_{{3,}}|\[(?P<type>{names})(?::(?P<original>(?:\\.|[^\[\]\\])*))?\])",
        re.DOTALL,
    )
