"""The codebook of a folder of infills: what its files and columns mean."""

from __future__ import annotations

from typing import NamedTuple

from humaneval.domain import SENTENCES, Role


def sentence_columns(most: int) -> tuple[str, ...]:
    """The names of the columns with a story's sentences."""
    return tuple(f"sentence{number}" for number in range(1, most + 1))


class Counts(NamedTuple):
    """What a folder of infills holds."""

    infills: int
    passages: int
    generators: int
    stories: int
    """0 without the stories' own sentences."""
    sentences: int = SENTENCES
    """The most that a story has."""
    pairs: bool = False
    """Whether some passages have a second sentence."""


class _Meaning(NamedTuple):
    """Columns of one file, separated by commas, and what they hold."""

    columns: str
    text: str


def codebook(counts: Counts, study: str, *, stories: bool) -> str:
    """The codebook in Markdown; `study` is empty if the folder holds the infills of every study."""
    columns = ", ".join(sentence_columns(counts.sentences))
    parts = [
        *_introduction(counts, study),
        *_infills(counts.sentences),
        *_passages(columns if stories else "", counts),
        *(_with_stories(columns) if stories else _without_stories()),
        *_runs(),
        *_use(),
    ]
    return "\n".join(parts)


def _introduction(counts: Counts, study: str) -> list[str]:
    kind = "five-sentence stories" if counts.sentences == SENTENCES else "stories"
    whose = f"of the study {study}" if study else "of every study"
    return [
        "# Codebook",
        "",
        (
            f"Sentences written for {kind} with one sentence removed, {whose}:"
            f" {counts.infills} infills, {counts.passages} passages, {counts.generators} generators. This"
            " folder holds no annotators and no answers."
        ),
        "",
        "The CSV files are UTF-8, quoted as in RFC 4180, with one header line and line feeds at the ends of"
        " lines. Text that a spreadsheet would run as a formula (= + - @, a tab or a carriage return at its"
        " start) has an apostrophe before it; `humaneval` takes it away when it reads the files.",
        "",
    ]


def _infills(most: int) -> list[str]:
    return _table(
        "infills.csv",
        "One line per infill: a sentence that a generator wrote, or failed to write.",
        _Meaning("story", "the story's id"),
        _Meaning("position", f"1–{most}: which sentence was removed"),
        _Meaning("sample", "from 1: which draw for that blank"),
        _Meaning("generator", "the generator's name; `runs.json` describes it"),
        _Meaning("text", "the sentence; empty if there is no usable one"),
        _Meaning("status", "`ok`, or what is wrong with the sentence"),
        _Meaning("detail", "details of the status, if it needs any"),
        _Meaning("infill", "the number of this line; `passages.csv` refers to it"),
        _Meaning("run", "the run that wrote it, in `runs.json`"),
        _Meaning(
            "extra",
            (
                "JSON: what the generator reports about it, such as `logprob` (natural logarithm, of all its"
                " tokens) and `raw` (the original text, if its form was corrected)"
            ),
        ),
    )


def _passages(columns: str, counts: Counts) -> list[str]:
    shown = "the five sentences" if counts.sentences == SENTENCES else "the sentences"
    shown += ", with the second sentence for the position last," if counts.pairs else ""
    roles = ", ".join(f"`{role}`" for role in Role)
    own = "; a `human` passage has no such line, because its sentence is the story's own"
    return _table(
        "passages.csv",
        "One line per passage of a study.",
        _Meaning("study", "the study's name"),
        _Meaning(
            "story, position, generator",
            "as above: a passage is the story with that sentence replaced by the infill",
        ),
        _Meaning("role", f"role of the generator in the study: {roles}"),
        _Meaning("infill", f"the line of `infills.csv`{'' if columns else own}"),
        _Meaning("shown_hash", f"SHA-256 of {shown} as shown: NFC, UTF-8, joined by line feeds"),
        *(
            [
                _Meaning(
                    "other, other_infill",
                    "generator and line of the second sentence, if there is one",
                )
            ]
            if counts.pairs
            else []
        ),
        *([_Meaning(columns, "the sentences as shown")] if columns else []),
        *([_Meaning("alternative", "the second sentence as shown")] if columns and counts.pairs else []),
    )


def _with_stories(columns: str) -> list[str]:
    return [
        *_table(
            "stories.csv",
            "One line per story. `humaneval stories import` reads this file.",
            _Meaning("storyid, storytitle", "its id and title"),
            _Meaning(columns, "the sentences that people wrote"),
        ),
        "The stories may have a licence of their own. Check that it allows you to publish them.",
        "",
    ]


def _without_stories() -> list[str]:
    return [
        "## The stories",
        "",
        (
            "The stories' own sentences are not in this folder. If you have the stories, you can rebuild a"
            " passage: replace the sentence at `position` by the infill. `shown_hash` tells whether it is the"
            " passage that was shown. An infill with the status `same as the original` repeats the story's"
            " sentence."
        ),
        "",
    ]


def _runs() -> list[str]:
    return [
        "## runs.json",
        "",
        (
            "A list with one entry per run: `generator`, its `kind`, the `checkpoint` with its hash, `seed`,"
            " all"
            " `settings`, the shape of the `batch`, the `versions` of the software, the `hash` of all of"
            " these,"
            " and when the run `started` (UTC)."
        ),
        "",
    ]


def _use() -> list[str]:
    return [
        "## Use",
        "",
        (
            "`humaneval generate --generator replay --checkpoint infills.csv` brings these infills into"
            " another"
            " database that holds the stories, each generator under its name."
        ),
        "",
    ]


def _table(name: str, what: str, *meanings: _Meaning) -> list[str]:
    return [
        f"## {name}",
        "",
        what,
        "",
        "| column | meaning |",
        "| --- | --- |",
        *(
            f"| {', '.join(f'`{one}`' for one in columns.split(', '))} | {text} |"
            for columns, text in meanings
        ),
        "",
    ]
