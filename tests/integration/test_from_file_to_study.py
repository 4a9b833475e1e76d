"""From a story file to a study: what was imported is used, joins that match nothing are refused, and a text
is one story."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import Engine, select

from humaneval.errors import SettingsError
from humaneval.store.engine import reading, writing
from humaneval.store.tables import GeneratorRow, StoryRow
from humaneval.study.audit import audit
from humaneval.study.file import read_study_file
from humaneval.study.stored import get_study, open_study
from humaneval.text import as_read
from tests.commands import Command

HEADER = "storyid,storytitle,sentence1,sentence2,sentence3,sentence4,sentence5\n"


def story_file(ids: Sequence[str], name: str = "stories.csv", split: str = "") -> None:
    """A file of stories, two of which have the same text if their ids end in the same number."""
    lines = [HEADER if not split else HEADER.strip() + ",split\n"]
    for id in ids:
        n = re.sub(r"\D", "", id)
        text = f"Tom {n} went out.,He met dog {n}.,Dog {n} was kind.,They met at {n}.,Tom {n} slept."
        lines.append(f"{id},T{n},{text}{f',{split}' if split else ''}\n")
    Path(name).write_text("".join(lines), encoding="utf-8")


def infill_file(
    ids: Sequence[str], text: str = "It was a fine day.", positions: Sequence[int] = (1, 2, 3, 4, 5)
) -> None:
    lines = [f"{id},{position},sys,{text}\n" for id in ids for position in positions]
    Path("infills.csv").write_text("story,position,generator,text\n" + "".join(lines), encoding="utf-8")


def replay(command: Command, *more: str) -> tuple[int, str, str]:
    return command("generate", "--generator", "replay", "--checkpoint", "infills.csv", *more)


IDS = [f"a{n}" for n in range(12)]


@pytest.fixture
def database(sqlite_engine: Engine, sqlite_database: str, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """The database that commands use."""
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    return sqlite_engine


# X21: what is imported is used


@pytest.mark.parametrize("split", ["", "test", "dev"])
def test_X21_what_is_imported_is_used_without_a_flag(command: Command, split: str) -> None:
    story_file(IDS, split=split)
    command("stories", "import", "stories.csv")
    assert command("generate", "--generator", "human").out == "human: 60 ok.\n"
    command("generate", "--generator", "control")
    made = command("study", "create", "s", "--generators", "control,human", "--annotators", "5", "--json")
    assert made.json["stories_without_infills"] == 0


def test_X21_training_stories_are_not_used_beside_those_of_the_test(command: Command) -> None:
    story_file(IDS, split="train")
    command("stories", "import", "stories.csv")
    story_file(["b1", "b2"], split="test")
    command("stories", "import", "stories.csv")
    story_file(["c3"])
    command("stories", "import", "stories.csv")
    assert command("generate", "--generator", "human").out == "human: 15 ok.\n"


@pytest.mark.parametrize(
    ("verb", "more"),
    [("generate", ("--generator", "human")), ("study", ("create", "s", "--annotators", "5"))],
)
def test_X21_the_hint_about_splits_works_when_it_is_followed(
    command: Command, verb: str, more: tuple[str, ...]
) -> None:
    command("init")
    story_file(IDS, split="dev")
    command("stories", "import", "stories.csv")
    for generator in ("human", "control"):
        command("generate", "--generator", generator)
    if verb == "study":
        more = (*more, "--generators", "control,human")
    said = command(verb, *more, "--split", "nothing")
    assert said.code != 0
    assert "Stories: dev (12). Name a split with --split, or take all with --split ''." in said.err
    for split in ("dev", ""):
        name = ("--as", f"g{split}") if verb == "generate" else ()
        args = [f"s{split}" if each == "s" else each for each in more]
        assert command(verb, *args, *name, "--split", split).code == 0


def test_X21_an_empty_database_says_what_to_import_and_that_works(command: Command) -> None:
    said = command("generate", "--generator", "human")
    assert "`humaneval study create NAME --from FILE`.\n  Also, to import stories alone:" in said.err
    assert said.err.endswith("`humaneval stories import --bundled`.\n")
    command("stories", "import", "--bundled")
    assert command("generate", "--generator", "human").code == 0


def test_X21_options_hold_for_the_bundled_stories_or_are_refused(command: Command) -> None:
    assert "--map" in command("stories", "import", "--bundled", "--map", "id=a").err
    assert command("stories", "import", "--bundled", "--split", "dev", "--source", "ours").code == 0
    listed = command("stories", "list", "--json", "--first", "1").json
    assert listed["splits"] == {"dev": 168}
    assert command("stories", "show", listed["stories"][0]["id"], "--json").json["source"] == "ours"


def test_X21_the_next_step_of_init_needs_no_split(command: Command) -> None:
    said = command("init")
    assert "with stories:  humaneval stories import FILE\n" in said.out


# X22: a join that matches nothing


def test_X22_infills_of_another_split_are_refused_with_ids_and_the_name_stays_free(
    command: Command, database: Engine
) -> None:
    story_file(IDS, split="valid")
    command("stories", "import", "stories.csv")
    story_file([f"b{n}" for n in range(12)], split="test")
    command("stories", "import", "stories.csv")
    infill_file(IDS)
    code, _, err = replay(command)
    assert code == 1
    assert "Stories in the file: a0, a1, a2 and 9 more; to fill: b0, b1, b2 and 9 more" in err
    assert "Nothing was stored. The stories of the file are of split 'valid': --split valid." in err
    with reading(database) as session:
        assert session.scalars(select(GeneratorRow.name)).all() == []
    assert replay(command, "--split", "valid")[1] == "sys: 60 ok.\n"


def test_X22_infills_of_other_positions_or_samples_are_refused(command: Command) -> None:
    story_file(IDS)
    command("stories", "import", "stories.csv")
    infill_file(IDS, positions=(3,))
    code, _, err = replay(command, "--positions", "1")
    assert code == 1
    assert "Story, position, sample in the file: a0 3 1, a1 3 1, a2 3 1 and 9 more; to fill: a0 1 1" in err
    assert replay(command, "--positions", "3")[1] == "sys: 12 ok.\n"


def test_X22_infills_of_later_stories_are_refused_with_advice_that_works(command: Command) -> None:
    story_file(IDS)
    command("stories", "import", "stories.csv")
    infill_file(IDS[8:])
    code, _, err = replay(command, "--stories", "4")
    assert (code, "leave out --stories, or name more" in err) == (1, True)
    assert replay(command)[1] == "sys: 40 missing, 20 ok.\n"


def test_X22_infills_for_some_of_the_stories_are_taken_and_counted(command: Command) -> None:
    story_file(IDS)
    command("stories", "import", "stories.csv")
    infill_file(IDS[:2])
    assert replay(command, "--shard", "2/2")[1] == "sys: 25 missing, 5 ok.\n"
    assert replay(command)[1].startswith("sys: 25 missing, 5 ok, 30 existed already.")


def test_X22_ids_that_are_written_otherwise_are_shown_beside_ours(command: Command) -> None:
    story_file(IDS)
    command("stories", "import", "stories.csv")
    infill_file([id.upper() for id in IDS])
    err = replay(command)[2]
    assert "Stories in the file: A0, A1, A2 and 9 more; in the database: a0, a1, a2 and 9 more" in err


def test_X22_a_key_of_another_study_is_refused_and_the_study_stays_unmarked(
    command: Command, study: str
) -> None:
    Path("key.json").write_text('{"0123456789abcdef": []}', encoding="utf-8")
    said = command("simulate", study, "--key", "key.json")
    assert said.code == 1
    assert "Forms in the file: 0123456789ab; of the study: " in said.err
    assert not command("study", "show", study, "--json").json["simulated"]


# X23: a text is one story


def test_X23_no_form_shows_a_text_twice_and_the_audit_counts_by_text(
    command: Command, database: Engine
) -> None:
    ids = [f"{letter}{n}" for n in range(6) for letter in "ab"]
    story_file(ids)
    command("stories", "import", "stories.csv")
    for generator in ("human", "control"):
        command("generate", "--generator", generator)
    infill_file(ids)
    replay(command)
    make = ("study", "create", "s", "--generators", "control,human,sys", "--annotators", "30")
    said = command(*make)
    assert "Each text is used once: 6 ids of these stories have the text of another.\n" in said.err
    with reading(database) as session:
        for row in get_study(session, "s").rows:
            stories = [session.get_one(StoryRow, place.passage.story_id) for place in row.places]
            texts = [as_read(story.sentences) for story in stories]
            assert len(set(texts)) == len(texts) == 3
    assert twice(database) == 0
    with writing(database) as session:  # as if the study had been made from ids
        first, *others = session.scalars(select(StoryRow).order_by(StoryRow.id)).all()
        for other in others:
            other.sentences = [*first.sentences[:3], first.sentences[3].upper(), first.sentences[4]]
    assert twice(database) == 2


def twice(database: Engine) -> int:
    """The most passages of a form whose text the form has shown before."""
    (line,) = (one for one in audit(open_study(database, "s")).balance if "twice" in one.what)
    return line.planned.largest


def test_X23_of_two_ids_of_a_text_that_with_infills_is_shown(command: Command, database: Engine) -> None:
    ids = [f"{letter}{n}" for n in range(6) for letter in "ab"]
    story_file(ids)
    command("stories", "import", "stories.csv")
    for generator in ("human", "control"):
        command("generate", "--generator", generator)
    infill_file([id for id in ids if id[0] == "b"])
    replay(command)
    allow = ("--allow", "missing")
    made = command(
        "study", "create", "s", "--generators", "control,human,sys", "--annotators", "30", *allow, "--json"
    ).json
    assert made["stories"] == 6
    assert (made["stories_without_infills"], made["stories_with_the_same_text"]) == (0, 6)


# X27: what a study lacks


def test_X27_a_study_without_any_common_blank_says_who_filled_how_many_stories(command: Command) -> None:
    story_file(IDS)
    command("stories", "import", "stories.csv")
    command("generate", "--generator", "control")
    command("generate", "--generator", "human", "--stories", "3", "--positions", "1")
    infill_file(IDS, positions=(2,))
    replay(command, "--positions", "2")
    said = command("study", "create", "s", "--generators", "control,human,sys", "--annotators", "5")
    assert said.code == 1
    assert "none of the 12 stories has infills by every generator" in said.err
    assert "Stories with infills: control 12, human 3, sys 12." in said.err


def test_X27_what_allowing_would_not_help_is_said_before_it_is_advised(command: Command) -> None:
    story_file(IDS)
    command("stories", "import", "stories.csv")
    command("generate", "--generator", "control")
    infill_file(IDS[:3], positions=(2,))
    replay(command)  # what the file lacks is stored as missing
    create = ("study", "create", "s", "--generators", "control,human,sys", "--annotators", "5")
    assert "there are no infills from human" in command(*create).err
    command("generate", "--generator", "human", "--stories", "1", "--positions", "1")
    said = command(*create)
    assert "none of the 12 stories has infills by every generator" in said.err
    assert "Stories with infills: control 12, human 1, sys 3." in said.err
    assert "--allow" not in said.err
    command("generate", "--generator", "human")
    said = command(*create)
    assert "position 1 has only 0 stories that all generators have filled; 3 are needed" in said.err
    assert "--allow" not in said.err
    Path("second.toml").write_text("[design]\npositions = [2]\n", encoding="utf-8")
    second = (*create, "--file", "second.toml")
    said = command(*second)
    assert "--allow 'missing'; the study records it. It then has 3 of 12 stories" in said.err
    said = command(*second, "--allow", "missing")
    assert said.code == 0, said.err
    assert "The study uses 3 of 12 stories: those with infills by every generator" in said.err


# X20: what is unclear is listed


def test_X20_doubtful_infills_are_listed_when_they_are_made_and_when_they_are_shown(command: Command) -> None:
    story_file(IDS)
    command("stories", "import", "stories.csv")
    for generator in ("human", "control"):
        command("generate", "--generator", generator)
    infill_file(IDS, text="He met J. Moss.")
    out = replay(command)[1].splitlines()
    assert out[0] == "sys: 60 ok."
    assert out[1] == "60 infills may be one sentence or two; look at them before annotators do:"
    assert out[2] == "  a0, sentence 1, sys: He met J. Moss.  [at J. Moss]"
    assert out[12:] == ["  … and 50 more: --json lists all"]
    make = ("study", "create", "s", "--generators", "control,human,sys", "--annotators", "5")
    said = command(*make)
    assert "5 infills may be one sentence or two; look at them before annotators do:\n" in said.err
    assert "sys: He met J. Moss.  [one sentence or two at: J. Moss]\n" in command("stories", "show", "a0").out
    doubtful = command(*make, "--json").json["doubtful"]
    assert [(one["generator"], one["places"]) for one in doubtful] == [("sys", ["J. Moss"])] * 5


def test_X20_infills_of_two_sentences_are_not_ok(command: Command) -> None:
    story_file(IDS)
    command("stories", "import", "stories.csv")
    infill_file(IDS, text="They laughed at me. I left.")
    assert replay(command)[1] == "sys: 60 several sentences.\n"


def test_X20_X24_the_files_that_showed_the_faults(command: Command, test_data: Path) -> None:
    faults = test_data / "faults"
    assert command("stories", "import", faults / "splitter_stories.jsonl").code == 0
    command("stories", "import", "--bundled", "--split", "test")
    said = command(
        "generate", "--generator", "replay", "--checkpoint", faults / "splitter_infills.csv", "--json"
    )
    assert said.json[0]["written"]["several sentences"] == 5
    assert command("stories", "import", faults / "invisible_sentence.csv").code == 1
    for name in ("title_tab_story.txt", "one_element_lists.json", "keys_differ.json"):
        assert command("stories", "import", faults / name).code == 0


# X24: one rule for what people read


def test_X24_a_split_that_nobody_sees_is_refused(command: Command) -> None:
    said = command("stories", "import", "--bundled", "--split", "\u200b")
    assert "--split contains U+200B, which is invisible" in said.err


@pytest.mark.parametrize("invisible", ["\u200b", "\u00ad", "\ufeff", "\u202e\u202c", "\u0301", "\u3164"])
@pytest.mark.parametrize(
    ("section", "setting"),
    [("page", "question"), ("page", "instructions"), ("hit", "title"), ("consent", "text")],
)
def test_X24_a_study_file_with_a_text_that_nobody_sees_is_refused(
    section: str, setting: str, invisible: str
) -> None:
    with pytest.raises(SettingsError, match=rf"{section}.{setting}: (contains U|has nothing)"):
        read_study_file(None, overrides={section: {setting: invisible}})


def test_X24_settings_that_are_stored_stay_readable(command: Command, database: Engine) -> None:
    command("stories", "import", "--bundled")
    for generator in ("human", "control"):
        command("generate", "--generator", generator)
    command("study", "create", "s", "--generators", "control,human", "--annotators", "5")
    with writing(database) as session:
        row = get_study(session, "s")
        page = {**row.settings["page"], "instructions": "Read\u00ading."}
        row.settings, row.settings_hash = {**row.settings, "page": page}, "another"
    assert command("study", "show", "s").code == 0


def test_X24_control_sentences_and_letters_that_nobody_sees_are_refused(command: Command, study: str) -> None:
    said = command("generate", "--generator", "control", "--as", "c", "--option", "wordings=Red.|\u200b")
    assert "a sentence of the option wordings contains U+200B, which is invisible" in said.err
    said = command("notify", study, "--subject", "News", "--text", "\u00ad", "--to", "local", "--dry-run")
    assert "the text contains U+00AD, which is invisible" in said.err
