"""Generation: goes on after a kill, judges what it gets, keeps one configuration a name, and finds kinds
unloaded."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, EntryPoints
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select

from humaneval import kinds as registered
from humaneval.domain import (
    Blank,
    Generator,
    GeneratorRequest,
    Infill,
    InfillStatus,
    Provenance,
    Story,
)
from humaneval.errors import InputError, PrerequisiteError, UsageError
from humaneval.infills import generate as generation
from humaneval.infills.blanks import Shard, blanks_of
from humaneval.infills.generate import run
from humaneval.infills.processing import STEPS, Form
from humaneval.infills.statuses import judge
from humaneval.kinds import build, kinds
from humaneval.store.engine import open_engine, reading
from humaneval.store.stories import add_stories
from humaneval.store.tables import GeneratorRow, InfillRow, RunRow, StoryRow
from tests.conftest import ROOT

POSITIONS = (1, 2, 3, 4, 5)
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


@dataclass(frozen=True)
class Writer:
    """A generator for tests: writes a sentence that names its blank, and can stop as a killed program
    does."""

    name: str = "writer"
    stops_after: int | None = None
    answers: Callable[[Blank], Infill] = lambda blank: Infill(
        blank, f"Sentence {blank.position} of {blank.story.id}."
    )
    seed: int = 0
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def provenance(self) -> Provenance:
        return Provenance("writer", seed=self.seed, versions=self.versions)

    def infill(self, blanks: Iterable[Blank]) -> Iterator[Infill]:
        for number, blank in enumerate(blanks):
            if number == self.stops_after:
                raise KeyboardInterrupt
            yield self.answers(blank)


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


# Runs


@pytest.mark.parametrize("stops_after", [0, 1, 49, 50, 77, 119])
def test_a_run_that_was_killed_goes_on_to_the_same_end_and_writes_nothing_twice(
    sqlite_engine: Engine, stories: tuple[Story, ...], stops_after: int
) -> None:
    add_stories(sqlite_engine, stories)
    blanks = blanks_of(stories, POSITIONS)
    with pytest.raises(KeyboardInterrupt):
        run(sqlite_engine, Writer(stops_after=stops_after), blanks)
    kept = len(stored(sqlite_engine))
    assert kept > stops_after - generation.COMMIT_EVERY
    summary = run(sqlite_engine, Writer(), blanks)
    assert summary.already_there == kept
    assert sum(summary.written.values()) == len(blanks) - kept
    whole = stored(sqlite_engine)
    assert [line[1:3] for line in whole] == sorted((b.story.id, b.position) for b in blanks)
    assert {line[4] for line in whole} == {f"Sentence {b.position} of {b.story.id}." for b in blanks}


def test_running_again_writes_nothing_and_counts_what_was_there(
    engine: Engine, stories: tuple[Story, ...]
) -> None:
    add_stories(engine, stories)
    blanks = blanks_of(stories, POSITIONS)
    assert run(engine, Writer(), blanks).written == {"ok": 120}
    steps: list[int] = []
    assert run(engine, Writer(), blanks, steps.append) == generation.RunSummary("writer", {}, 120)
    assert sum(steps) == 120


def test_programs_that_fill_the_same_blanks_at_once_end_with_one_infill_each(
    database: str, stories: tuple[Story, ...]
) -> None:
    engines = [open_engine(database) for _ in range(4)]
    add_stories(engines[0], stories)
    blanks = blanks_of(stories, POSITIONS)
    written: list[int] = []
    errors: list[BaseException] = []
    together = threading.Barrier(4)

    def fill(engine: Engine) -> None:
        try:
            together.wait()
            written.append(sum(run(engine, Writer(), blanks).written.values()))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=fill, args=(engine,)) for engine in engines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(stored(engines[0])) == 120
    assert sum(written) == 120
    for engine in engines:
        engine.dispose()


def test_samples_of_one_blank_are_kept_apart(sqlite_engine: Engine) -> None:
    add_stories(sqlite_engine, [STORY])
    draws = Writer(answers=lambda blank: Infill(blank, f"Draw {blank.sample} at {blank.position}."))
    run(sqlite_engine, draws, blanks_of([STORY], (1, 2), samples=2))
    run(sqlite_engine, draws, blanks_of([STORY], (1, 2), samples=3))
    assert [(line[2], line[3], line[4]) for line in stored(sqlite_engine)] == [
        (position, sample, f"Draw {sample} at {position}.") for position in (1, 2) for sample in (1, 2, 3)
    ]


def test_a_name_keeps_one_configuration(sqlite_engine: Engine) -> None:
    add_stories(sqlite_engine, [STORY])
    run(sqlite_engine, Writer(seed=0), blanks_of([STORY], (1,)))
    with pytest.raises(UsageError, match="'writer' already has infills made with another") as caught:
        run(sqlite_engine, Writer(seed=1), blanks_of([STORY], (2,)))
    assert "--as NAME" in caught.value.hint
    run(sqlite_engine, Writer("second-writer", seed=1), blanks_of([STORY], (2,)))
    assert [line[:3] for line in stored(sqlite_engine)] == [("second-writer", "s1", 2), ("writer", "s1", 1)]


def test_other_software_under_one_name_is_another_run_of_the_same_generator(sqlite_engine: Engine) -> None:
    add_stories(sqlite_engine, [STORY])
    run(sqlite_engine, Writer(versions={"torch": "2.11"}), blanks_of([STORY], (1,)))
    run(sqlite_engine, Writer(versions={"torch": "2.13"}), blanks_of([STORY], (1, 2)))
    with reading(sqlite_engine) as session:
        found = session.execute(
            select(InfillRow.position, RunRow.versions).join(RunRow, RunRow.id == InfillRow.run_id)
        ).all()
    assert sorted(found) == [(1, {"torch": "2.11"}), (2, {"torch": "2.13"})]


def test_a_setting_without_limit_can_be_kept(engine: Engine) -> None:
    class Trained(Writer):
        @property
        def provenance(self) -> Provenance:
            return Provenance("writer", settings={"training": {"minutes": float("inf")}})

    add_stories(engine, [STORY])
    run(engine, Trained(), blanks_of([STORY], (1,)))
    with reading(engine) as session:
        assert session.scalars(select(RunRow.settings)).all() == [{"training": {"minutes": "Infinity"}}]


@pytest.mark.parametrize("name", ["", " lm", "a,b", "bell\x07", "lone \ud800"])
def test_a_name_that_no_list_or_table_could_carry_is_refused(sqlite_engine: Engine, name: str) -> None:
    add_stories(sqlite_engine, [STORY])
    with pytest.raises(UsageError, match="cannot be a generator's name"):
        run(sqlite_engine, Writer(name), blanks_of([STORY], (1,)))


@pytest.mark.parametrize(
    "answer",
    [
        lambda blank: Infill(Blank(blank.story, 5), "The last one first."),
        lambda blank: Infill(Blank(STORY, blank.position, sample=9), "Another sample."),
    ],
)
def test_a_generator_that_answers_other_blanks_is_stopped(
    sqlite_engine: Engine, answer: Callable[[Blank], Infill]
) -> None:
    add_stories(sqlite_engine, [STORY])
    with pytest.raises(InputError, match="instead of an infill for s1 position 1"):
        run(sqlite_engine, Writer(answers=answer), blanks_of([STORY], (1, 2)))
    assert stored(sqlite_engine) == []


def test_a_generator_that_stops_early_is_stopped(sqlite_engine: Engine) -> None:
    class Short(Writer):
        def infill(self, blanks: Iterable[Blank]) -> Iterator[Infill]:
            return islice(super().infill(blanks), 1)

    add_stories(sqlite_engine, [STORY])
    with pytest.raises(InputError, match="returned nothing instead of an infill for s1 position 2"):
        run(sqlite_engine, Short(), blanks_of([STORY], (1, 2)))


def test_a_text_that_is_none_stops_its_generator(sqlite_engine: Engine) -> None:
    add_stories(sqlite_engine, [STORY])
    nothing: Any = None
    with pytest.raises(InputError, match="an infill whose text is nothing instead of str for s1 position 1"):
        run(sqlite_engine, Writer(answers=lambda blank: Infill(blank, nothing)), blanks_of([STORY], (1,)))


@pytest.mark.parametrize("form", [Form(), Form(steps=tuple(STEPS)), Form(rest=True)])
@pytest.mark.parametrize("status", [InfillStatus.OK, InfillStatus.CUT])
def test_a_text_without_end_is_not_kept(sqlite_engine: Engine, form: Form, status: InfillStatus) -> None:
    add_stories(sqlite_engine, [STORY])
    endless = Writer(answers=lambda blank: Infill(blank, "no end " * 5_000, status))
    (whole,) = form.of([endless], [STORY])
    assert run(sqlite_engine, whole, blanks_of([STORY], (4,))).written == {"unprintable": 1}
    with reading(sqlite_engine) as session:
        (kept,) = session.scalars(select(InfillRow))
    assert (kept.text, kept.detail) == ("", "34,999 characters; at most 20,000")
    assert len(str(kept.extra)) < 100


def test_what_a_generator_reports_without_end_is_not_kept(sqlite_engine: Engine) -> None:
    add_stories(sqlite_engine, [STORY])
    said = {"tokens": [7] * 40_000, "deep": {}}
    endless = Writer(
        answers=lambda blank: Infill(blank, "It rained.", InfillStatus.CUT, "no end " * 5_000, said)
    )
    run(sqlite_engine, endless, blanks_of([STORY], (4,)))
    with reading(sqlite_engine) as session:
        (kept,) = session.scalars(select(InfillRow))
    assert (kept.text, len(kept.detail)) == ("It rained.", 20_000)
    assert kept.extra == {"not kept": "120,024 characters"}


def test_infinity_and_what_is_no_number_are_reported_as_nothing(engine: Engine) -> None:
    add_stories(engine, [STORY])
    said = {"logprob": float("nan"), "each": [float("-inf"), -0.5], "id": "NaN"}
    run(
        engine,
        Writer(answers=lambda blank: Infill(blank, "It rained.", extra=said)),
        blanks_of([STORY], (4,)),
    )
    with reading(engine) as session:
        assert session.scalars(select(InfillRow.extra)).all() == [
            {"logprob": None, "each": [None, -0.5], "id": "NaN"}
        ]


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 24, 30])
def test_shards_cover_each_blank_once_and_keep_stories_whole(stories: tuple[Story, ...], parts: int) -> None:
    shards = [blanks_of(stories, POSITIONS, 2, shard=Shard(i, parts)) for i in range(1, parts + 1)]
    counts = Counter(blank for shard in shards for blank in shard)
    assert set(counts) == set(blanks_of(stories, POSITIONS, 2))
    assert set(counts.values()) == {1}
    owners = Counter(story for shard in shards for story in {blank.story.id for blank in shard})
    assert set(owners.values()) == {1}


# Judging


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("He ate the whole cake.", InfillStatus.OK),
        ("  He ate\n the whole cake. ", InfillStatus.OK),
        ("“Who?” he said.", InfillStatus.OK),
        ("{{7*7}} <script>alert(1)</script> ]]> 🎂", InfillStatus.OK),
        ("", InfillStatus.EMPTY),
        (" .”", InfillStatus.EMPTY),
        (" \t\n ", InfillStatus.EMPTY),
        ("She let it cool.", InfillStatus.SAME_AS_ORIGINAL),
        (" She  let it\ncool. ", InfillStatus.SAME_AS_ORIGINAL),
        ("It rose well.", InfillStatus.SAME_AS_NEIGHBOUR),
        ("They ate all of it.", InfillStatus.SAME_AS_NEIGHBOUR),
        ("He ran. She sat.", InfillStatus.SEVERAL_SENTENCES),
        ("He ate\x00 it.", InfillStatus.UNPRINTABLE),
        ("\x07", InfillStatus.UNPRINTABLE),
        ("lone \ud83d surrogate", InfillStatus.UNPRINTABLE),
        ("\ufffe", InfillStatus.UNPRINTABLE),
        ("bro\ufffdken", InfillStatus.UNPRINTABLE),
        ("He\u200b ate.", InfillStatus.UNPRINTABLE),
    ],
)
def test_an_infill_gets_the_status_that_its_text_deserves(text: str, status: InfillStatus) -> None:
    judged = judge(Infill(Blank(STORY, 3), text))
    assert judged.status is status
    if status is InfillStatus.UNPRINTABLE:
        assert judged.text == ""
        assert "U+" in judged.detail


def test_a_status_that_the_generator_gave_stands() -> None:
    for status in set(InfillStatus) - {InfillStatus.OK}:
        judged = judge(Infill(Blank(STORY, 3), "Half a sen", status, "why"))
        assert (judged.status, judged.text, judged.detail) == (status, "Half a sen", "why")


@settings(max_examples=300, deadline=None)
@given(
    st.text(st.characters(codec=None, categories=["Cc", "Cs", "Cn", "Zs", "L"])),
    st.sampled_from(list(InfillStatus)),
    st.text(st.characters(codec=None, categories=["Cc", "Cs", "L"])),
)
def test_whatever_a_generator_writes_what_is_kept_can_be_shown_and_stored(
    text: str, status: InfillStatus, detail: str
) -> None:
    judged = judge(Infill(Blank(STORY, 3), text, status, detail))
    for kept in (judged.text, judged.detail):
        kept.encode("utf-8")
        assert not any(
            (ord(c) < 32 and c not in "\t\n\r") or 0x7F <= ord(c) < 0xA0 or ord(c) in (0xFFFE, 0xFFFF)
            for c in kept
        )
    if judged.status is InfillStatus.OK:
        assert judged.text.strip()


def test_text_that_cannot_be_stored_never_stops_a_run(engine: Engine) -> None:
    add_stories(engine, [STORY])
    bad = Writer(answers=lambda blank: Infill(blank, "cut \x00 \ud800", InfillStatus.CUT, "\x00 \udfff"))
    assert run(engine, bad, blanks_of([STORY], (1,))).written == {"unprintable": 1}


# Kinds


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Registers kinds (name=target) as an installed package would, and no others."""

    def offer(**targets: str) -> None:
        points = EntryPoints(EntryPoint(name, target, registered.GROUP) for name, target in targets.items())
        monkeypatch.setattr(registered, "entry_points", lambda **wanted: points.select(**wanted))

    return offer


def test_a_kind_of_another_package_is_listed_without_importing_it_and_built_when_asked(
    offered: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "their_package.py").write_text(
        "from tests.integration.test_generation import Writer\n\n\ndef build(request):\n"
        "    return [Writer(request.kind, seed=request.seed, versions=dict(request.options))]\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    offered(theirs="their_package:build")
    assert [(kind.name, kind.target) for kind in kinds()] == [("theirs", "their_package:build")]
    assert "their_package" not in sys.modules
    made = build(GeneratorRequest("theirs", seed=3, options={"a": "b"}))
    assert made == [Writer("theirs", seed=3, versions={"a": "b"})]


def test_a_missing_package_is_named_with_the_command_that_installs_it(
    offered: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "needs_more.py").write_text("import a_package_nobody_has.deep\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "generators.control", None)
    offered(theirs="needs_more:build", ours="generators.control:build")
    with pytest.raises(PrerequisiteError, match="'theirs' needs the package a_package_nobody_has") as caught:
        build(GeneratorRequest("theirs"))
    assert caught.value.hint == "pip install a_package_nobody_has"
    with pytest.raises(PrerequisiteError, match="'ours' needs the package generators") as caught:
        build(GeneratorRequest("ours"))
    assert caught.value.hint == "pip install 'humaneval-toolkit[models]'"


def test_a_kind_that_is_not_there_lists_those_that_are() -> None:
    with pytest.raises(UsageError, match="no generator kind 'gpt-9'") as caught:
        build(GeneratorRequest("gpt-9"))
    assert "control" in caught.value.hint
    assert "replay" in caught.value.hint


def test_listing_kinds_imports_no_generator() -> None:
    source = (
        "import sys; from humaneval.kinds import kinds; found = [kind.name for kind in kinds()]; "
        "print(found, any(name.partition('.')[0] in ('generators', 'torch') for name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("False\n")
    assert "'control'" in done.stdout


# Control


def texts(generator: Generator, blanks: Sequence[Blank]) -> dict[Blank, str]:
    return {infill.blank: infill.text for infill in generator.infill(blanks)}


def test_G17_control_wordings_depend_on_seed_and_blank_and_not_on_order_or_company(
    stories: tuple[Story, ...],
) -> None:
    options = {"wordings": "A machine wrote this.|No person wrote this.|This is a test sentence."}
    blanks = blanks_of(stories, POSITIONS)
    (control,) = build(GeneratorRequest("control", options=options))
    whole = texts(control, blanks)
    assert texts(control, blanks[::-1]) == whole
    for blank in blanks[::7]:
        assert texts(control, [blank]) == {blank: whole[blank]}
    assert set(Counter(whole.values())) == set(options["wordings"].split("|"))
    (other,) = build(GeneratorRequest("control", seed=1, options=options))
    assert texts(other, blanks) != whole


def test_the_control_sentence_is_the_papers_unless_told_otherwise() -> None:
    (control,) = build(GeneratorRequest("control"))
    assert set(texts(control, blanks_of([STORY], POSITIONS)).values()) == {
        "This sentence was generated by a computer."
    }
    with pytest.raises(UsageError, match="empty sentence"):
        build(GeneratorRequest("control", options={"wordings": "One.||Two."}))


def test_human_gives_each_sentence_back_and_is_ok_even_where_it_holds_several(
    sqlite_engine: Engine,
) -> None:
    story = Story("two", ("He ran. She sat.", *STORY.sentences[1:]))
    add_stories(sqlite_engine, [story])
    (human,) = build(GeneratorRequest("human"))
    run(sqlite_engine, human, blanks_of([story], POSITIONS))
    assert [line[4:] for line in stored(sqlite_engine)] == [(text, "ok") for text in story.sentences]


@pytest.mark.parametrize("hidden", ["\u200b", "\u202e", "\ufeff"])
def test_characters_that_nobody_sees_would_give_the_machine_away(hidden: str) -> None:
    judged = judge(Infill(Blank(STORY, 3), f"Nobody {hidden}came that day."))
    assert (judged.status, judged.text) == (InfillStatus.UNPRINTABLE, "")
