"""Stories as plain text: one story a line, or paragraphs with blank lines between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from humaneval.domain import SENTENCES
from humaneval.errors import InputError
from humaneval.stories.fields import count_trouble, spelled
from humaneval.stories.result import Record, Records
from humaneval.text import Parts, ends_a_sentence, language_of, split_into

LINES = "text, one story a line"
TITLED_LINES = "text, title and story with a tab between them"
PARAGRAPHS = "text, one story a paragraph"

_LOOKED_AT = 200
_TITLE = re.compile(r"\W*\w(?:(?![.!?] ).){0,78}")


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may be a story: the line on which it begins, and its sentences."""

    line: int
    sentences: Sequence[str]
    doubts: Sequence[str] = ()


def physical_lines(text: str) -> list[str]:
    """The lines of `text` without their ends: LF, CRLF or CR."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def read_text(text: str, name: str, wanted: int = SENTENCES) -> Records:
    """The records of a plain text file. Raises InputError for running prose and verse."""
    lines = physical_lines(text)
    groups = _groups(lines)
    by_line = [[(line, sentence)] for group in groups for line, sentence in group]
    if not by_line:
        raise InputError(f"{name} is empty", "Give a file with stories: CSV, JSONL or plain text.")
    paragraphs = len(by_line) > len(groups) and _nearer(groups, by_line, wanted)
    titles = [_title(group) for group in groups] if paragraphs else []
    titled = sum(map(bool, titles)) > 0.5 * len(titles)
    if titled:
        groups = [group[1:] if title else group for group, title in zip(groups, titles, strict=True)]
    candidates = [_candidate(group, wanted) for group in (groups if paragraphs else by_line)]
    _refuse_running_text(candidates, lines, name, "paragraphs" if paragraphs else "lines", wanted)
    records = [
        Record(
            candidate.line,
            candidate.sentences,
            trouble=count_trouble(candidate.sentences, candidate.doubts, wanted),
            doubts=candidate.doubts,
        )
        for candidate in candidates
    ]
    if titled:
        for record, title in zip(records, titles, strict=True):
            record.title = title
    single = sum(len(candidate.sentences) == 1 for candidate in candidates)
    notes: tuple[str, ...] = ("the first line of each paragraph is read as its title",) if titled else ()
    if single > 0.8 * len(candidates) and len(candidates) > 1:
        notes = ("each line is one sentence: put a whole story on each line, or blank lines between stories",)
    return Records(PARAGRAPHS if paragraphs else LINES, records, notes=notes)


def read_titled_lines(text: str, wanted: int = SENTENCES) -> Records | None:
    """The records of lines with a title, an id or both, and a story, with tabs between; None for other text.

    The first cells are ids if they have digits, no space, and no two lines have the same.
    """
    lines = [(number, line) for number, line in enumerate(physical_lines(text), 1) if line.strip()]
    width = lines[0][1].strip(" ").count("\t") + 1 if lines else 0
    if width not in (2, 3) or any(line.strip(" ").count("\t") + 1 != width for _, line in lines):
        return None
    cells = [[cell.strip() for cell in line.strip(" ").split("\t")] for _, line in lines]
    looked_at = cells[:: len(cells) // _LOOKED_AT + 1]  # as it may be sorted by length
    named = not any(" " in name and ends_a_sentence(name) for one in looked_at for name in one[:-1])
    whole = sum(len(_cut(one[-1], wanted).sentences) == wanted for one in looked_at)
    if not named or 2 * whole <= len(looked_at):
        return None
    names = [one[0] for one in cells]
    ids = len(set(names)) == len(names) and all(re.fullmatch(r"\S*\d\S*", name) for name in names)
    if width == 3 and not ids:
        return None
    records = []
    for (number, _), one in zip(lines, cells, strict=True):
        found = _cut(one[-1], wanted)
        trouble = count_trouble(found.sentences, found.doubts, wanted)
        record = Record(number, found.sentences, trouble=trouble, doubts=found.doubts)
        record.id = one[0] if ids else None
        record.title = "" if ids and width == 2 else one[-2]
        records.append(record)
    read_as = ("the id" if ids else "the title") if width == 2 else "the id, and the second as the title"
    return Records(TITLED_LINES, records, "\t", notes=(f"the first column is read as {read_as}",))


def _cut(text: str, wanted: int) -> Parts:
    return split_into(wanted, text, language_of(text))


_Group = list[tuple[int, str]]


def _groups(lines: Iterable[str]) -> list[_Group]:
    """Runs of lines that are not blank, each line with its number."""
    groups: list[_Group] = [[]]
    for number, line in enumerate(lines, start=1):
        if line.strip():
            groups[-1].append((number, line))
        elif groups[-1]:
            groups.append([])
    return groups if groups[-1] else groups[:-1]


def _candidate(group: _Group, wanted: int) -> Candidate:
    """The sentences of a group. As many lines that each end like a sentence are taken as they are."""
    if len(group) == wanted and all(ends_a_sentence(line) for _, line in group):
        return Candidate(group[0][0], [line for _, line in group])
    return Candidate(group[0][0], *_cut(" ".join(line for _, line in group), wanted))


def _title(group: _Group) -> str:
    """The first line of a paragraph if it is a title: not a sentence, and shorter than a wrapped line."""
    if len(group) < 2:
        return ""
    first, second = group[0][1].strip(), group[1][1].strip()
    longest = max(len(line) for _, line in group)
    had_room = len(first) + 1 + len(second.split()[0]) < longest
    starts = not second[0].islower()
    if had_room and starts and _TITLE.fullmatch(first) and not ends_a_sentence(first):
        return first.lstrip("# ")
    return ""


def _nearer(groups: list[_Group], by_line: list[_Group], wanted: int) -> bool:
    """Whether paragraphs make better stories than lines: more of `wanted` sentences, or nearer to that."""

    def merit(some: list[_Group]) -> tuple[float, float]:
        counts = [len(_candidate(group, wanted).sentences) for group in some[:_LOOKED_AT]]
        right = sum(count == wanted for count in counts)
        return right / len(counts), -abs(sum(counts) / len(counts) - wanted)

    return merit(groups) > merit(by_line)


def _refuse_running_text(
    candidates: list[Candidate], lines: list[str], name: str, what: str, wanted: int
) -> None:
    counts = [len(candidate.sentences) for candidate in candidates]
    total = len(counts)
    right = sum(count == wanted for count in counts) / total
    near = sum(abs(count - wanted) <= 2 for count in counts) / total
    full = [line for line in lines if line.strip()]
    broken = sum(not ends_a_sentence(line) for line in full) / len(full)
    wrapped = broken > 0.4 and right < 0.2 and len(full) >= wanted
    uneven = near < 0.5 and max(counts) > wanted + 3
    if (wrapped and near < 0.5) or uneven:
        raise InputError(
            f"{name} looks like running text or verse ({what} of {min(counts)} to {max(counts)} sentences), "
            f"not {spelled(wanted)}-sentence stories",
            f"Put one story of {spelled(wanted)} sentences on each line, or blank lines between stories,"
            " or use CSV with a header line.",
        )
