"""Reads a story file and checks every story in it; also the stories that come with the toolkit."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from humaneval.csv_text import lines_of
from humaneval.domain import FEWEST_SENTENCES, MOST_SENTENCES, SENTENCES, Story
from humaneval.encodings import Decoded, decode
from humaneval.errors import InputError
from humaneval.limits import read_rows
from humaneval.stories.delimited import delimiter_of, read_table
from humaneval.stories.headings import mapped_sentences
from humaneval.stories.jsonl import looks_like_json, read_json
from humaneval.stories.not_stories import looks_tokenised, refuse_other_files
from humaneval.stories.plain import read_text, read_titled_lines
from humaneval.stories.result import Problem, Reading, Record, Records
from humaneval.text import as_read, has_words, listed, mojibake, normalise, unshowable

FEW_STORIES = 3
"""Fewer stories do not show how many sentences a file's stories have."""
MOST_TRIED = 1_000_000
"""So long a text, in characters, is read again with other numbers of sentences, if it makes no stories."""
LOOKED_AT = 500
"""So many of its lines are read again at first, if every number is tried: one that makes hardly any stories
of them is left at once."""
BUNDLED = Path(__file__).parent.parent / "bundled" / "stories.jsonl"


def read_stories(
    path: Path,
    *,
    encoding: str | None = None,
    mapping: Mapping[str, str] | None = None,
    split: str = "",
    source: str = "",
    sentences: int = 0,
) -> Reading:
    """All stories of the file at `path`, and what is wrong with the records that cannot be used.

    `mapping` says which column holds which field (see `parse_mapping`). `split` and `source` override what
    the file says. A story has so many `sentences`; 0: five, or what most stories of a file without any of
    five have. Raises InputError for a file that is not a story file at all.
    """
    name = str(path)
    decoded = decode(_bytes(path), name, encoding, what="a story file")
    found = _found(decoded.text, name, mapping, sentences or mapped_sentences(mapping))
    stories: list[Story] = []
    problems: list[Problem] = []
    doubtful: list[Problem] = []
    first_at: dict[str, tuple[int, Story]] = {}  # by id, or by the text if there are no ids
    for record in found.records:
        story, reason = checked(record, split=split, source=source)
        key = "" if story is None else as_read(story.sentences) if record.id is None else story.id
        if story is not None and key in first_at:
            reason = _duplicate(story, record, *first_at[key])
        elif story is not None:
            first_at[key] = (record.line, story)
            stories.append(story)
            if record.doubts:
                places = listed(record.doubts)
                doubtful.append(Problem(name, record.line, f"one sentence or two at: {places}"))
        if reason:
            problems.append(Problem(name, record.line, reason))
    if not stories and not problems:
        raise InputError(f"{name} contains no stories", "It has only a header line or empty brackets.")
    return Reading(
        path=path,
        format=found.format,
        encoding=decoded.encoding,
        delimiter=found.delimiter,
        stories=tuple(stories),
        problems=tuple(problems),
        notes=(*found.notes, *_notes(decoded, stories)),
        doubtful=tuple(doubtful),
    )


def bundled_stories() -> tuple[Story, ...]:
    """The stories that come with the toolkit, free to use and publish."""
    return read_stories(BUNDLED).stories


def _bytes(path: Path) -> bytes:
    try:
        data = read_rows(path)
    except FileNotFoundError:
        raise InputError(f"{path} does not exist", "Check the file name.") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder", "Give one file. Import several files one by one.") from None
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}", "Check the file and its permissions."
        ) from None
    if not data.strip():
        raise InputError(f"{path} is empty", "Give a file with stories: CSV, JSONL or plain text.")
    return data


def _found(text: str, name: str, mapping: Mapping[str, str] | None, sentences: int) -> Records:
    """The records, of so many sentences each; for 0, see `read_stories`."""
    if sentences:
        return _records(text, name, mapping, sentences)
    usual: Records | InputError
    try:
        usual = _records(text, name, mapping, SENTENCES)
    except InputError as error:
        usual = error
    else:
        if any(not record.trouble for record in usual.records):
            return usual
    lengths = _other_lengths(text, usual)
    for wanted in lengths:
        try:
            some = LOOKED_AT if len(lengths) > 2 else None
            if not some or _are_stories(_records(text, name, mapping, wanted, some), least=0):
                found = _records(text, name, mapping, wanted)
                if _are_stories(found):
                    return found
        except InputError:
            continue
    if isinstance(usual, InputError):
        raise usual
    return usual


def _are_stories(found: Records, least: float = 0.5) -> bool:
    sound = [not record.trouble for record in found.records]
    return sum(sound) >= FEW_STORIES and sum(sound) > least * len(sound)


def _other_lengths(text: str, usual: Records | InputError) -> list[int]:
    """How many sentences stories may have if none has five: the likeliest first."""
    every = range(FEWEST_SENTENCES, MOST_SENTENCES + 1)
    blindly = list(every) if len(text) <= MOST_TRIED else []
    if isinstance(usual, InputError):
        return blindly
    lengths = Counter(len(record.sentences) for record in usual.records)
    likely = dict.fromkeys([usual.columns, *(length for length, _ in lengths.most_common(1))])
    return [length for length in likely if length in every and length != SENTENCES] or blindly


def _records(
    text: str, name: str, mapping: Mapping[str, str] | None, wanted: int, some: int | None = None
) -> Records:
    """All records, or those of `some` lines or values of JSON: the first ones, but of plain text those in its
    middle, which has what most of the text has, wherever that begins."""
    if looks_like_json(text):
        return read_json(text, name, mapping, wanted, some)
    delimiter = delimiter_of(text, mapping)
    if some:
        lines = list(lines_of(text))
        start = 0 if delimiter else max(0, (len(lines) - some) // 2)
        text = "".join(lines[start : start + some])
    if delimiter:
        return read_table(text, name, delimiter, mapping, wanted)
    if not mapping and (titled := read_titled_lines(text, wanted)):
        return titled
    refuse_other_files(text, name, mapping)
    return read_text(text, name, wanted)


class Checked(NamedTuple):
    """The story of a record, or every reason why it cannot be used."""

    story: Story | None
    reason: str


def checked(record: Record, *, split: str = "", source: str = "") -> Checked:
    """The story of a record, if it can be shown as it is. `split` and `source` override what it says."""
    reasons = [record.trouble] if record.trouble else []
    sentences: list[str] = []
    for position, sentence in enumerate(record.sentences, start=1):
        if isinstance(sentence, str):
            sentences.append(_sentence(sentence, f"sentence {position}", reasons))
    title = _sentence(record.title, "the title", reasons, may_be_empty=True)
    story_id = record.id.strip() if record.id is not None else ""
    for what, word in (("the id", story_id), ("the split", record.split), ("the source", record.source)):
        if fault := unshowable(word):
            reasons.append(f"{what} {fault}")
    if record.id is not None and not story_id and not record.trouble:
        reasons.append("the id is empty")
    if reasons:
        return Checked(None, "; ".join(reasons))
    story = Story(
        id=story_id or made_id(sentences),
        sentences=tuple(sentences),
        title=title,
        source=source or normalise(record.source),
        split=split or normalise(record.split),
    )
    return Checked(story, "")


def _sentence(text: str, what: str, reasons: list[str], *, may_be_empty: bool = False) -> str:
    if text.isascii() and text.isprintable() and "?" not in text:  # nearly every sentence
        kept = " ".join(text.split())
    else:
        kept = normalise(text)
        if fault := unshowable(kept):
            reasons.append(f"{what} {fault}")
            return kept
        if damage := mojibake(text):
            reasons.append(f"{what}: {damage}")
    if not may_be_empty and not has_words(kept):
        reasons.append(f"{what} has no word in it" if kept else f"{what} is empty")
    return kept


def made_id(sentences: list[str]) -> str:
    """The id of a story whose file has no ids. The same sentences always get the same id."""
    return "s-" + hashlib.sha256("\n".join(sentences).encode("utf-8")).hexdigest()[:12]


def _duplicate(story: Story, record: Record, line: int, first: Story) -> str:
    if record.id is None:
        return f"the same story as on line {line}"
    same = as_read(first.sentences) == as_read(story.sentences)
    same_text = "with the same sentences" if same else "with other sentences"
    return f"duplicate id {story.id}, first on line {line} {same_text}"


def _notes(decoded: Decoded, stories: list[Story]) -> list[str]:
    notes = []
    if decoded.guessed:
        notes.append(f"{decoded.note}; --encoding overrides this")
    again = len(stories) - len({as_read(story.sentences) for story in stories})
    if again:
        notes.append(
            f"stories with the text of another one, case, marks and spaces aside: {again}; a study takes one"
            " of each text"
        )
    if len(stories) > 1 and all(story.id.isdecimal() and len(story.id) <= 6 for story in stories):
        notes.append("the ids are only numbers (an index); stories of another file may have the same ids")
    if looks_tokenised([sentence for story in stories[:400] for sentence in story.sentences]):
        notes.append(
            "the sentences look tokenised (spaces before full stops), and annotators will see the spaces"
        )
    return notes
