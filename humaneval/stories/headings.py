"""Which column or field of a file holds what: by its usual names, or as `--map` says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from humaneval.domain import MOST_SENTENCES, SENTENCES
from humaneval.errors import UsageError
from humaneval.text import same_name

_POSITIONS = range(1, MOST_SENTENCES + 1)


def sentence_fields(sentences: int = SENTENCES) -> tuple[str, ...]:
    """The fields of a story's sentences."""
    return tuple(f"sentence{position}" for position in range(1, sentences + 1))


SENTENCE_FIELDS = sentence_fields()
CLOZE_FIELDS = (*SENTENCE_FIELDS[:4], "ending1", "ending2", "answer")
FIELDS = (
    "id",
    "title",
    *SENTENCE_FIELDS,
    "sentences",
    "text",
    "ending1",
    "ending2",
    "answer",
    "split",
    "source",
)
"""The fields that `--map` can assign a column to."""

_ALIASES = {
    "id": ("storyid", "inputstoryid", "id"),
    "title": ("storytitle", "title"),
    **{f"sentence{position}": (f"sentence{position}", f"inputsentence{position}") for position in _POSITIONS},
    "sentences": ("sentences",),
    "text": ("text", "storytext"),
    "ending1": ("randomfifthsentencequiz1", "ending1", "end1"),
    "ending2": ("randomfifthsentencequiz2", "ending2", "end2"),
    "answer": ("answerrightending", "answer"),
    "split": ("split",),
    "source": ("source",),
}
_FIELD_OF = {alias: field_name for field_name, aliases in _ALIASES.items() for alias in aliases}
_NUMBERED = re.compile(r"(?:input)?sentence([1-9]\d?)")
_RESPONSES = re.compile(r"worker|annotator|rater(?!y)|participant|judge?ment|(?<![a-z])choice")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a file: by field, for more sentences than a story has, and those that are not used."""

    of: Mapping[str, str]
    surplus: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    twice: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    """Columns that `--map` names and the file does not have."""
    sentences: int = SENTENCES
    """How many a story has."""

    @property
    def shape(self) -> str:
        """How the file gives a story: `five` columns (or as many as it has sentences), a `list`, a `text` to
        split, `cloze`, or none: ``."""
        if all(name in self.of for name in sentence_fields(self.sentences)):
            return "five"
        for shape, needed in _SHAPES.items():
            if all(name in self.of for name in needed):
                return shape
        return ""

    @property
    def missing(self) -> tuple[str, ...]:
        """The missing fields of the shape that the columns come nearest to."""
        if "ending1" in self.of or "ending2" in self.of:
            return tuple(name for name in CLOZE_FIELDS if name not in self.of)
        return tuple(name for name in sentence_fields(self.sentences) if name not in self.of)


_SHAPES: dict[str, tuple[str, ...]] = {
    "list": ("sentences",),
    "cloze": CLOZE_FIELDS,
    "text": ("text",),
}


def parse_mapping(text: str) -> dict[str, str]:
    """The value of `--map`, such as `id=Input.storyid,sentence1=Input.line1`, as field → column.

    >>> parse_mapping("id=Input.storyid, title=Input.Title")
    {'id': 'Input.storyid', 'title': 'Input.Title'}
    """
    mapping: dict[str, str] = {}
    for part in text.split(","):
        name, equals, column = (piece.strip() for piece in part.partition("="))
        if not equals or not name or not column:
            raise UsageError(
                f"{part.strip()!r} is not FIELD=COLUMN",
                "Write for example --map id=Input.storyid,sentence1=Input.line1.",
            )
        said, name = name, name.casefold()
        if name not in FIELDS and name not in sentence_fields(MOST_SENTENCES):
            raise UsageError(f"{said!r} is not a field of a story", f"Fields: {', '.join(FIELDS)}.")
        if name in mapping:
            raise UsageError(f"--map names {name!r} twice", "Name each field once.")
        mapping[name] = column
    return mapping


def mapped_sentences(mapping: Mapping[str, str] | None) -> int:
    """How many sentences `--map` gives a story; 0 if it does not say."""
    named = [int(name.removeprefix("sentence")) for name in mapping or () if _NUMBERED.fullmatch(name)]
    return max(named, default=0)


def numbered_sentences(names: Sequence[str]) -> int:
    """How many columns in a row are called as sentences, from the first on."""
    found = {int(number[1]) for name in names if (number := _NUMBERED.fullmatch(_plain(name)))}
    return next(number for number in range(1, len(found) + 2) if number not in found) - 1


def resolve(
    names: Sequence[str], mapping: Mapping[str, str] | None = None, sentences: int = SENTENCES
) -> Columns:
    """What each column holds if a story has so many sentences. `mapping` overrides the usual names; case,
    spaces and `_` are ignored."""
    of: dict[str, str] = {}
    taken: set[str] = set()
    unknown: list[str] = []
    for field_name, column in (mapping or {}).items():
        found = same_name(column, names)
        if found is not None:
            of[field_name] = found
            taken.add(found)
        else:
            unknown.append(column)
    surplus: list[str] = []
    ignored: list[str] = []
    seen: set[str] = set()
    twice: list[str] = []
    for name in names:
        if name in seen:
            if name in taken:
                twice.append(name)
            continue
        seen.add(name)
        if name in taken:
            continue
        plain = _plain(name)
        known, number = _FIELD_OF.get(plain), _NUMBERED.fullmatch(plain)
        beyond = number is not None and int(number[1]) > sentences
        if known is not None and known not in of and not beyond:
            of[known] = name
            taken.add(name)
        elif beyond:
            surplus.append(name)
        else:
            ignored.append(name)
    return Columns(of, tuple(surplus), tuple(ignored), tuple(twice), tuple(unknown), sentences)


def known_names(names: Sequence[str], mapping: Mapping[str, str] | None = None) -> int:
    """How many of `names` are columns of a story, by their usual names or by `mapping`."""
    mapped = {same_name(column, names) for column in (mapping or {}).values()}
    return sum(name in mapped or _plain(name) in _FIELD_OF for name in names)


def of_responses(names: Sequence[str]) -> list[str]:
    """The names among `names` that belong to a table of responses, not of stories."""
    return [name for name in names if _RESPONSES.search(name.lower())]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
