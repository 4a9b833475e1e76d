"""Read a story file and check every story in it; also the stories that come with the toolkit."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from humaneval.domain import SENTENCES, Story
from humaneval.errors import InputError
from humaneval.stories.delimited import find_header, read_table
from humaneval.stories.encodings import Decoded, decode
from humaneval.stories.jsonl import looks_like_json, read_json
from humaneval.stories.not_stories import looks_tokenised, refuse_what_is_no_story_file
from humaneval.stories.plain import read_text
from humaneval.stories.result import Problem, Reading, Record, Records
from humaneval.text import mojibake, normalise, refused_characters

BUNDLED = Path(__file__).parent.parent / "bundled" / "stories.jsonl"


def read_stories(
    path: Path,
    *,
    encoding: str | None = None,
    mapping: Mapping[str, str] | None = None,
    split: str = "",
    source: str = "",
) -> Reading:
    """All stories of the file at `path`, and what is wrong with those that cannot be taken.

    `mapping` says which column holds which field (see `parse_mapping`). `split` and `source`, where given, go
    before what the file says. Raises InputError for a file that is not a story file at all.
    """
    name = str(path)
    decoded = decode(_bytes(path), name, encoding)
    found = _records(decoded.text, name, mapping)
    stories: list[Story] = []
    problems: list[Problem] = []
    first_at: dict[str, tuple[int, Story]] = {}
    for record in found.records:
        story, reason = _checked(record, split, source)
        if story is not None and story.id in first_at:
            reason = _duplicate(story, record, *first_at[story.id])
        elif story is not None:
            first_at[story.id] = (record.line, story)
            stories.append(story)
        if reason:
            problems.append(Problem(name, record.line, reason))
    if not stories and not problems:
        raise InputError(
            f"{name} has no stories in it", "It has a header line or brackets and nothing after them."
        )
    return Reading(
        path=path,
        format=found.format,
        encoding=decoded.encoding,
        delimiter=found.delimiter,
        stories=tuple(stories),
        problems=tuple(problems),
        notes=(*found.notes, *_notes(decoded, stories)),
    )


def bundled_stories() -> tuple[Story, ...]:
    """The stories that come with the toolkit, free to use and to publish."""
    return read_stories(BUNDLED).stories


def _bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path} does not exist", "Check the name of the file.") from None
    except IsADirectoryError:
        raise InputError(
            f"{path} is a folder", "Name one file; import several by one command each."
        ) from None
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}", "Check the file and its permissions."
        ) from None
    if not data.strip():
        raise InputError(f"{path} is empty", "Give a file of stories: CSV, JSONL or plain text.")
    return data


def _records(text: str, name: str, mapping: Mapping[str, str] | None) -> Records:
    if looks_like_json(text):
        return read_json(text, name, mapping)
    if header := find_header(text, mapping):
        return read_table(text, name, header[0], mapping)
    refuse_what_is_no_story_file(text, name, mapping)
    return read_text(text, name)


def _checked(record: Record, split: str, source: str) -> tuple[Story | None, str]:
    """The story of a record, or None and every reason why it cannot be taken."""
    reasons = [record.trouble] if record.trouble else []
    sentences: list[str] = []
    for position, sentence in enumerate(record.sentences, start=1):
        if isinstance(sentence, str):
            sentences.append(_sentence(sentence, f"sentence {position}", reasons))
    title = _sentence(record.title, "the title", reasons, may_be_empty=True)
    story_id = record.id.strip() if record.id is not None else ""
    for what, word in (("the id", story_id), ("the split", record.split), ("the source", record.source)):
        if refused := refused_characters(word):
            reasons.append(f"{what} has {refused}, which cannot be stored or shown")
    if record.id is not None and not story_id and not record.trouble:
        reasons.append("the id is empty")
    if reasons:
        return None, "; ".join(reasons)
    if len(sentences) != SENTENCES:
        raise AssertionError("a record without trouble has five sentences")
    first, second, third, fourth, fifth = sentences
    story = Story(
        id=story_id or made_id(sentences),
        sentences=(first, second, third, fourth, fifth),
        title=title,
        source=source or normalise(record.source),
        split=split or normalise(record.split),
    )
    return story, ""


def _sentence(text: str, what: str, reasons: list[str], *, may_be_empty: bool = False) -> str:
    if text.isascii() and text.isprintable() and text and "?" not in text:  # nearly every sentence
        kept = " ".join(text.split())
        if not kept and not may_be_empty:
            reasons.append(f"{what} is empty")
        return kept
    if not text.isprintable() and (refused := refused_characters(text)):
        reasons.append(f"{what} has {refused}, which cannot be stored or shown")
    if damage := mojibake(text):
        reasons.append(f"{what}: {damage}")
    kept = normalise(text)
    if not kept and not may_be_empty:
        reasons.append(f"{what} is empty")
    return kept


def made_id(sentences: list[str]) -> str:
    """The id of a story whose file gives none: the same sentences always have the same one."""
    return "s-" + hashlib.sha256("\n".join(sentences).encode("utf-8")).hexdigest()[:12]


def _duplicate(story: Story, record: Record, line: int, first: Story) -> str:
    if record.id is None:
        return f"the same story as at line {line}"
    same = "with the same sentences" if first.sentences == story.sentences else "with other sentences"
    return f"duplicate id {story.id}, first at line {line} {same}"


def _notes(decoded: Decoded, stories: list[Story]) -> list[str]:
    notes = []
    if decoded.guessed:
        notes.append(
            f"read as {decoded.encoding} (Windows-1252), for it is not UTF-8: --encoding says otherwise"
        )
    again = len(stories) - len({story.sentences for story in stories})
    if again:
        notes.append(f"stories with the same five sentences as another, under another id: {again}")
    if len(stories) > 1 and all(story.id.isdecimal() and len(story.id) <= 6 for story in stories):
        notes.append("the ids are an index, not ids: another file's stories may be numbered alike")
    if looks_tokenised([sentence for story in stories[:400] for sentence in story.sentences]):
        notes.append(
            "the sentences look tokenised (spaces before full stops): annotators will see the spaces"
        )
    return notes
