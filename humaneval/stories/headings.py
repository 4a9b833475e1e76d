"""Which column or field of a file holds what: by its usual names, or as `--map` says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from humaneval.domain import POSITIONS
from humaneval.errors import UsageError
from humaneval.text import same_name

SENTENCE_FIELDS = tuple(f"sentence{position}" for position in POSITIONS)
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
    **{f"sentence{position}": (f"sentence{position}", f"inputsentence{position}") for position in POSITIONS},
    "sentences": ("sentences",),
    "text": ("text", "storytext"),
    "ending1": ("randomfifthsentencequiz1", "ending1", "end1"),
    "ending2": ("randomfifthsentencequiz2", "ending2", "end2"),
    "answer": ("answerrightending", "answer"),
    "split": ("split",),
    "source": ("source",),
}
_FIELD_OF = {alias: field_name for field_name, aliases in _ALIASES.items() for alias in aliases}
_SURPLUS = re.compile(r"(?:input)?sentence(?:[6-9]|[1-9]\d)")
_RESPONSES = re.compile(r"worker|annotator|rater(?!y)|participant|judge?ment|(?<![a-z])choice")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a file: by field, for a sixth sentence and more, and those that are not used."""

    of: Mapping[str, str]
    surplus: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    twice: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    """Columns that `--map` names and the file does not have."""

    @property
    def shape(self) -> str:
        """How the file gives a story: `five` columns, a `list`, a `text` to split, `cloze`, or none: ``."""
        for shape, needed in _SHAPES.items():
            if all(name in self.of for name in needed):
                return shape
        return ""

    @property
    def missing(self) -> tuple[str, ...]:
        """The missing fields of the shape that the columns come nearest to."""
        if "ending1" in self.of or "ending2" in self.of:
            return tuple(name for name in CLOZE_FIELDS if name not in self.of)
        return tuple(name for name in SENTENCE_FIELDS if name not in self.of)


_SHAPES: dict[str, tuple[str, ...]] = {
    "five": SENTENCE_FIELDS,
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
        if name not in FIELDS:
            raise UsageError(f"{said!r} is not a field of a story", f"Fields: {', '.join(FIELDS)}.")
        if name in mapping:
            raise UsageError(f"--map names {name!r} twice", "Name each field once.")
        mapping[name] = column
    return mapping


def resolve(names: Sequence[str], mapping: Mapping[str, str] | None = None) -> Columns:
    """What each column holds. `mapping` overrides the usual names; case, spaces and `_` are ignored."""
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
        known = _FIELD_OF.get(plain)
        if known is not None and known not in of:
            of[known] = name
            taken.add(name)
        elif _SURPLUS.fullmatch(plain):
            surplus.append(name)
        else:
            ignored.append(name)
    return Columns(of, tuple(surplus), tuple(ignored), tuple(twice), tuple(unknown))


def known_names(names: Sequence[str], mapping: Mapping[str, str] | None = None) -> int:
    """How many of `names` are columns of a story, by their usual names or by `mapping`."""
    mapped = {same_name(column, names) for column in (mapping or {}).values()}
    return sum(name in mapped or _plain(name) in _FIELD_OF for name in names)


def of_responses(names: Sequence[str]) -> list[str]:
    """The names among `names` that belong to a table of responses, not of stories."""
    return [name for name in names if _RESPONSES.search(name.lower())]


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
