"""Replay: outputs of other programs come in from a file as they are, or are refused with their line."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select

from humaneval.domain import (
    Generator,
    GeneratorRequest,
    Story,
)
from humaneval.errors import HumanEvalError, InputError, UsageError
from humaneval.infills.blanks import blanks_of
from humaneval.infills.forget import forget
from humaneval.infills.generate import run
from humaneval.kinds import build
from humaneval.store.engine import reading
from humaneval.store.stories import add_stories
from humaneval.store.tables import GeneratorRow, InfillRow, StoryRow

STORY = Story(
    "s1",
    (
        "Ann baked a cake.",
        "It rose well.",
        "She let it cool.",
        "Her son came home.",
        "They ate all of it.",
    ),
)


def stored(engine: Engine) -> list[tuple[Any, ...]]:
    """Every infill that is there: generator, story, position, sample, text, status."""
    with reading(engine) as session:
        lines = session.execute(
            select(
                GeneratorRow.name,
                StoryRow.key,
                InfillRow.position,
                InfillRow.sample,
                InfillRow.text,
                InfillRow.status,
            )
            .join(GeneratorRow, GeneratorRow.id == InfillRow.generator_id)
            .join(StoryRow, StoryRow.id == InfillRow.story_id)
        )
        return sorted(tuple(line) for line in lines)


def replay(path: Path, content: str | bytes, **options: str) -> Sequence[Generator]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    name = options.pop("name", "")
    return build(GeneratorRequest("replay", name, checkpoint=str(path), options=options))


TABLE = (
    "story,position,generator,text\ns1,1,ilm,Bob baked bread.\ns1,2,ilm,It sank.\ns1,1,lm,“Cake!” she cried;"
    " é.\n"
)
LINES = [
    {"story": "s1", "position": 1, "generator": "ilm", "text": "Bob baked bread."},
    {"story": "s1", "position": "2", "generator": "ilm", "text": "It sank."},
    {"story": "s1", "position": 1, "generator": "lm", "text": "“Cake!” she cried; é."},
]


@pytest.mark.parametrize(
    "content",
    [
        TABLE.encode(),
        TABLE.encode("utf-8-sig"),
        TABLE.encode("utf-16"),
        TABLE.encode("cp1252"),
        TABLE.replace("story,", " Story ,").encode(),
        TABLE.replace("\n", "\r\n").encode(),
        TABLE.replace(",", ";").replace("“Cake!” she cried; é.", '"“Cake!” she cried; é."').encode(),
        TABLE.replace(",", "\t").encode(),
        "\n".join(json.dumps(line) for line in LINES).encode(),
        ("\ufeff" + "\n\n".join(json.dumps(line, ensure_ascii=False) for line in LINES)).encode(),
    ],
    ids=[
        "csv",
        "bom",
        "utf-16",
        "cp1252",
        "capitals",
        "crlf",
        "semicolons",
        "tabs",
        "jsonl",
        "jsonl with bom",
    ],
)
def test_C61_a_file_of_many_generators_gives_each_its_own_lines_whatever_its_form(
    sqlite_engine: Engine, tmp_path: Path, content: bytes
) -> None:
    add_stories(sqlite_engine, [STORY])
    for generator in replay(tmp_path / "infills", content):
        run(sqlite_engine, generator, blanks_of([STORY], (1, 2)))
    assert [(line[0], line[2], line[4], line[5]) for line in stored(sqlite_engine)] == [
        ("ilm", 1, "Bob baked bread.", "ok"),
        ("ilm", 2, "It sank.", "ok"),
        ("lm", 1, "“Cake!” she cried; é.", "ok"),
        ("lm", 2, "", "missing"),
    ]


HEADER = "story,position,generator,text\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (HEADER + "s1,21,lm,x\n", "infills:2: position 21"),
        (HEADER + "s1,1,lm,a\ns1,0,lm,x\n", "infills:3: position 0"),
        (HEADER + "s1,one,lm,x\n", "infills:2: position 'one'"),
        (HEADER + f"s1,{'9' * 5000},lm,x\n", "infills:2: position '999"),
        (HEADER + "s1,1.5,lm,x\n", "infills:2: position '1.5'"),
        ('{"story": "s1", "position": 1.5, "generator": "lm", "text": "x"}', "infills:1: position 1.5"),
        ('{"story": "s1", "position": true, "generator": "lm", "text": "x"}', "infills:1: position True"),
        ('{"story": "s1", "position": [1], "generator": "lm", "text": "x"}', r"infills:1: position \[1\]"),
        ('{"story": "s1", "position": 1, "generator": "lm", "text": 7}', "infills:1: text 7"),
        ('{"story": "s1", "position": 1, "generator": "lm", "text": null}', "infills:1: no text"),
        ('{"story": "s1", "position": 1}', "infills:1: no generator, text"),
        ('{"story": "s1"\n', "infills:1: not JSON"),
        ("{}\n[]\n", "infills:1: no story"),
        (HEADER + "s1,1,lm,x\ns1,2,,x\n", "infills:3: no generator"),
        (HEADER + "s1,1,lm\n", "infills:2: no text"),
        (HEADER + "s1,1,lm,Well, he said so.\n", "infills:2: more cells than the header has columns"),
        (HEADER + 's1,1,lm,"never closed\n', "infills:2: "),
        (HEADER + 's1,1,"l\nm","never closed\n', "infills:3: a quotation mark is opened and never closed"),
        (HEADER + "s1,1,lm," + "a " * 9_000_000, "infills, line 2 is longer than 16 MiB"),
        (
            HEADER + "s1,1,lm,a\ns1,2,lm,a\ns1,1,lm,b\n",
            "infills:4: lm has story 's1', position 1 twice .first in line 2",
        ),
        ("story,position,text\ns1,1,x\n", "lacks the column generator"),
        ("id;pos\n", "lacks the columns story, position, generator, text"),
        (HEADER, "has no lines"),
        ("", "lacks the columns|has no lines"),
        (HEADER.encode() + b"s1,1,lm,caf\x81\n", "infills, line 2: byte 0x81"),
    ],
)
def test_a_replay_file_with_a_fault_is_refused_with_its_line(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        replay(tmp_path / "infills", content)
    assert caught.value.hint


def test_a_story_that_is_not_in_the_database_is_named_with_its_line(
    sqlite_engine: Engine, tmp_path: Path
) -> None:
    add_stories(sqlite_engine, [STORY])
    (lm,) = replay(tmp_path / "infills", HEADER + "s1,1,lm,a\ns9,1,lm,b\ns8,1,lm,c\n")
    with pytest.raises(
        InputError, match=r"infills:3: story 's9' is not in the database \(and 1 more lines\)"
    ):
        run(sqlite_engine, lm, blanks_of([STORY], (1,)))
    assert stored(sqlite_engine) == []


def test_another_system_in_the_file_does_not_make_another_generator_of_the_first(
    sqlite_engine: Engine, tmp_path: Path
) -> None:
    add_stories(sqlite_engine, [STORY])
    path, blanks = tmp_path / "infills.csv", blanks_of([STORY], (1,))
    (lm,) = replay(path, HEADER + "s1,1,lm,a\n")
    run(sqlite_engine, lm, blanks)
    for generator in replay(path, HEADER + "s1,1,ilm,b\r\ns1,1,lm,a\r\n"):
        run(sqlite_engine, generator, blanks)
    assert [line[0] for line in stored(sqlite_engine)] == ["ilm", "lm"]
    (lm,) = replay(path, HEADER + "s1,1,lm,something else\n")
    with pytest.raises(UsageError, match="already has infills"):
        run(sqlite_engine, lm, blanks)


def test_one_of_several_systems_can_be_picked_and_renamed(tmp_path: Path) -> None:
    path = tmp_path / "infills.csv"
    assert [g.name for g in replay(path, TABLE)] == ["ilm", "lm"]
    assert [g.name for g in replay(path, TABLE, generator="lm", name="lm-large")] == ["lm-large"]
    with pytest.raises(UsageError, match="--as can rename only one"):
        replay(path, TABLE, name="both")
    with pytest.raises(UsageError, match="has no generator 'sa'") as caught:
        replay(path, TABLE, generator="sa")
    assert caught.value.hint == "It has: ilm, lm."


@pytest.mark.parametrize("checkpoint", ["", "nowhere.csv", "."])
def test_a_replay_without_a_readable_file_says_how_to_name_one(checkpoint: str) -> None:
    with pytest.raises(HumanEvalError) as caught:
        build(GeneratorRequest("replay", checkpoint=checkpoint))
    assert "--checkpoint" in caught.value.hint


def test_an_infill_can_be_traced_to_its_line(sqlite_engine: Engine, tmp_path: Path) -> None:
    add_stories(sqlite_engine, [STORY])
    (lm,) = replay(tmp_path / "infills.csv", HEADER + 's1,1,lm,"two\nlines"\ns1,2,lm,b\n')
    run(sqlite_engine, lm, blanks_of([STORY], (1, 2)))
    with reading(sqlite_engine) as session:
        rows = session.scalars(select(InfillRow).order_by(InfillRow.position)).all()
        assert [row.extra for row in rows] == [{"line": 2}, {"line": 4}]
        assert rows[0].text == "two lines"


def test_a_generator_is_forgotten_with_its_infills_unless_a_study_shows_them(
    engine: Engine, stories: tuple[Story, ...], study_factory: Callable
) -> None:
    study_factory(engine)
    with pytest.raises(UsageError, match="study 'study' shows infills by 'human'"):
        forget(engine, "human")
    (again,) = build(GeneratorRequest("control", "mistake"))
    run(engine, again, blanks_of(stories[:2], (1, 2)))
    assert forget(engine, "mistake") == 4
    with pytest.raises(UsageError, match="no infills by 'mistake'"):
        forget(engine, "mistake")
    (other,) = build(GeneratorRequest("control", "mistake", options={"wordings": "Another sentence."}))
    assert run(engine, other, blanks_of(stories[:2], (1, 2))).written == {"ok": 4}
