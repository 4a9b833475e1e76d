"""The words of the field as values: stories, blanks, infills, passages, rows; and the Generator protocol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from humaneval.errors import UsageError
from humaneval.plugins import no_json, typed
from humaneval.text import (
    ENGLISH,
    clear_sentences,
    has_words,
    hidden_characters,
    is_path,
    language_of,
    refused_characters,
    unshowable,
)

SENTENCES = 5
"""How many sentences a story has, if nothing else is said."""
FEWEST_SENTENCES, MOST_SENTENCES = 3, 20
"""How many sentences a story may have."""
LONGEST_NAME = 200
"""Bytes of the name of a study or of a generator: a file's name may have 255."""

LONGEST_SENTENCE = 20_000
"""Characters of a sentence that a machine wrote. One of 4,000 words has as many."""
LONGEST_EXTRA = 100_000
"""Characters of what a generator reports about an infill."""

PROGRAM = "humaneval-simulated"
"""How the browsers of simulated annotators begin their names, so that their answers are not taken for a
person's. Anybody can say this, so a key of the database follows: `study.stored.program_name`."""

FROM_TABLE = "table"
"""The kind of a generator whose sentences come from tables. They are compared one by one before they are
stored, so that another file, column or order of the same sentences is no other configuration."""

GUESS = 1 / SENTENCES
"""How often an annotator who marks any sentence finds the machine's."""

CEILING = 1 - GUESS
"""The score that chance alone gives where positions are uniform: 80 %. It is also the score of a generator
that nobody can tell from a person, Human's as planned."""

POSITIONS = tuple(range(1, SENTENCES + 1))

LEVELS = (0.5, 0.999)
"""The least and the greatest level of confidence that anybody may ask for. Nearer to 1, intervals have no
ends."""

Sentences: TypeAlias = tuple[str, ...]


class Role(StrEnum):
    """A generator's part in a study: the control, which attentive annotators notice; the human; a system."""

    CONTROL = "control"
    HUMAN = "human"
    SYSTEM = "system"


class InfillStatus(StrEnum):
    """What became of a blank. `shown_statuses` says which of them a study shows to annotators."""

    OK = "ok"
    EMPTY = "empty"
    CUT = "cut"
    MISSING = "missing"
    REFUSED = "refused"
    FILTERED = "filtered"
    ERROR = "error"
    UNPRINTABLE = "unprintable"
    SEVERAL_SENTENCES = "several sentences"
    SAME_AS_ORIGINAL = "same as the original"
    SAME_AS_NEIGHBOUR = "same as a neighbour"


PROCESSED_STATUSES = frozenset({InfillStatus.OK, InfillStatus.SEVERAL_SENTENCES})
"""Statuses of infills that `--processing` works on. No step can turn the others into a sentence."""


def shown_statuses(allowed: Iterable[InfillStatus] = ()) -> frozenset[InfillStatus]:
    """The statuses of the infills that a study shows: `ok`, and those that its study file allows."""
    return frozenset({InfillStatus.OK, *allowed})


class Verdict(NamedTuple):
    """The status that a text deserves, and why."""

    status: InfillStatus
    detail: str = ""


def verdict_on(
    text: str, *, needs_words: bool = True, one_sentence: bool = True, language: str = ENGLISH
) -> Verdict:
    """The status that `text` deserves by itself, without its story: printable, not empty, one sentence.

    With `needs_words` punctuation alone counts as empty. Where it is unclear whether there are two sentences,
    the text passes, and `humaneval.text.doubts` names the place. Pass text that `normalise` returned.

    >>> verdict_on("It rained. She stayed.")
    Verdict(status=<InfillStatus.SEVERAL_SENTENCES: 'several sentences'>, detail='2 sentences')
    """
    if one_sentence and len(text) > LONGEST_SENTENCE:
        return Verdict(InfillStatus.UNPRINTABLE, f"{len(text):,} characters; at most {LONGEST_SENTENCE:,}")
    if "\ufffd" in text:
        return Verdict(InfillStatus.UNPRINTABLE, "bytes that are not valid text (U+FFFD)")
    if found := refused_characters(text) or hidden_characters(text):
        return Verdict(InfillStatus.UNPRINTABLE, f"characters that no page can carry: {found}")
    if not text or unshowable(text) or (needs_words and not has_words(text)):
        return Verdict(InfillStatus.EMPTY, "no word in it" if text else "")
    if one_sentence and (count := len(clear_sentences(text, language))) > 1:
        return Verdict(InfillStatus.SEVERAL_SENTENCES, f"{count} sentences")
    return Verdict(InfillStatus.OK)


@dataclass(frozen=True, slots=True)
class Story:
    """Human sentences, usually five. They are the story's fields and are never split again."""

    id: str
    sentences: Sentences
    title: str = ""
    source: str = ""
    split: str = ""

    @property
    def language(self) -> str:
        """The code of its language, which says how sentences like its own are told apart."""
        return language_of(" ".join(self.sentences))


@dataclass(frozen=True, slots=True)
class Blank:
    """A story with the sentence at `position` (from 1) taken out. `sample` (from 1) counts the draws."""

    story: Story
    position: int
    sample: int = 1

    @property
    def original(self) -> str:
        """The sentence that was taken out."""
        return self.story.sentences[self.position - 1]

    def filled(self, sentence: str) -> Sentences:
        """The story's sentences with `sentence` at the blank."""
        kept = self.story.sentences
        at = self.position - 1
        return (*kept[:at], sentence, *kept[at + 1 :])


@dataclass(frozen=True, slots=True)
class Infill:
    """The sentence a generator wrote for a blank. `detail` says why if the status is not `ok`."""

    blank: Blank
    text: str
    status: InfillStatus = InfillStatus.OK
    detail: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What the generator reports about this infill: its own seed, tokens, tries, log-probability."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A place in a text where something is missing: what belongs there, and what it must satisfy."""

    type: str = "sentence"
    """A granularity (document, paragraph, sentence, ngram, word), or a type from a custom mask function."""
    min_words: int = 0
    max_words: int = 0
    """0 means no limit."""
    beginning: str = ""
    """What the answer must begin with."""
    original: str = ""
    """The text that was there. Only generators that ask for it get it, such as BERT for its word pieces."""


@dataclass(frozen=True, slots=True)
class GappedText:
    """Any text with gaps: pieces[0], gaps[0], pieces[1], … and one more piece than gaps.

    The pieces are the text as it stands, including white space; an answer has none at its ends. `key` names
    the text's stream of random numbers, `sample` (from 1) the draw.
    """

    key: str
    pieces: tuple[str, ...]
    gaps: tuple[Gap, ...]
    sample: int = 1


@dataclass(frozen=True, slots=True)
class Filling:
    """What a generator wrote for one gap."""

    text: str
    status: InfillStatus = InfillStatus.OK
    detail: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


def fault_in(written: Infill | Filling) -> str:
    """What is wrong with what a generator wrote: that it is of a wrong type, or cannot be kept. Empty if
    nothing is.

    >>> fault_in(Filling("It rained.", extra={"tokens": {1, 2}}))
    'whose extra is no JSON: Object of type set is not JSON serializable'
    """
    for name, kind in (("text", str), ("status", InfillStatus), ("detail", str), ("extra", Mapping)):
        value = getattr(written, name)
        if not isinstance(value, kind):
            return f"whose {name} is {typed(value)} instead of {kind.__name__}"
    why = no_json(dict(written.extra))
    return f"whose extra is no JSON: {why}" if why else ""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where infills come from, in enough detail to make them again. Stored once a run, with a hash."""

    kind: str
    checkpoint: str = ""
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    batch: Mapping[str, Any] = field(default_factory=dict)
    """`size`, `device` and `precision` of a model's batches."""
    versions: Mapping[str, str] = field(default_factory=dict)


def depends_on_batch(made: Provenance) -> bool:
    """Whether an infill also depends on the texts in its batch: if the precision is below fp32.

    Rounding is then so coarse that about half of the texts differ between batches of 1 and 32.

    >>> depends_on_batch(Provenance("ilm", batch={"precision": "bf16"}))
    True
    """
    return bool(made.batch.get("precision", "fp32") != "fp32")


def refuse_name(name: str) -> None:
    """Raise UsageError for what cannot be a generator's name."""
    strange = name != name.strip() or "," in name or not name.isprintable() or is_path(name)
    if strange or len(name.encode()) > LONGEST_NAME:
        raise UsageError(f"{name!r} cannot be a generator's name", "Use letters, digits and hyphens.")


@dataclass(frozen=True, slots=True)
class GeneratorRequest:
    """What a builder gets: everything that `humaneval generate` was told about the generator."""

    kind: str
    name: str = ""
    """The generator's name; empty means the name of the kind."""
    checkpoint: str = ""
    """A folder or file that the kind reads; empty if it needs none."""
    device: str = "auto"
    seed: int = 0
    options: Mapping[str, str] = field(default_factory=dict)

    def allow_options(self, *names: str) -> None:
        """Raise UsageError for an option that the kind does not have: a misspelt one would go unnoticed."""
        unknown = sorted(set(self.options) - set(names))
        if unknown:
            known = f"Options: {', '.join(names)}." if names else "It has no options."
            raise UsageError(f"generator {self.kind!r} has no option {', '.join(unknown)}", known)


@runtime_checkable
class Generator(Protocol):
    """A named configuration that turns blanks into infills.

    `infill` yields one infill a blank, in the order of the blanks, and streams: it may read a batch ahead,
    but it never needs all blanks before the first infill.
    """

    @property
    def name(self) -> str: ...

    @property
    def provenance(self) -> Provenance: ...

    def infill(self, blanks: Iterable[Blank]) -> Iterator[Infill]: ...


@runtime_checkable
class FillsText(Protocol):
    """A generator that can also fill the gaps in any text."""

    @property
    def types(self) -> tuple[str, ...]:
        """The types of gap that it can fill."""
        ...

    @property
    def several(self) -> bool:
        """Whether it sees all gaps of a text at once, and does not fill them one by one from the left."""
        ...

    def fill(self, texts: Iterable[GappedText]) -> Iterator[tuple[Filling, ...]]:
        """One filling a gap, in order. It streams as `infill` does."""
        ...


@dataclass(frozen=True, slots=True)
class Drawing:
    """How a model draws. The nucleus keeps the likeliest tokens, up to the one with which their mass reaches
    it."""

    seed: int = 0
    temperature: float = 1.0
    nucleus: float = 0.95
    longest: int = 0
    """The most tokens of an answer; 0: as the generator was made."""


@runtime_checkable
class DrawsAnew(Protocol):
    """A generator that can draw otherwise without opening its model again."""

    def drawing(self, how: Drawing) -> FillsText:
        """The same generator, drawing like this. Raises UsageError if a value is out of its range."""
        ...


@runtime_checkable
class ChecksStories(Protocol):
    """A generator that can tell, before it fills any blank, that it does not fit the stories."""

    def check(self, stories: Mapping[str, Story], blanks: Sequence[Blank]) -> None:
        """Raise InputError if what the generator brings does not fit `stories`, all that there are by id, or
        has nothing for any of `blanks`."""
        ...


def rounded_up(number: int, unit: int) -> int:
    """The smallest multiple of `unit` that is not below `number`."""
    return -(-number // unit) * unit
