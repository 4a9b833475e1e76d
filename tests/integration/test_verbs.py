"""What each verb does for the person who types it."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from sqlalchemy import Engine

from humaneval.store.engine import writing
from humaneval.store.migrate import HEAD
from humaneval.store.tables import MetaRow
from humaneval.stories import bundled_stories
from tests.commands import Command, program
from tests.ports import free_port

HEADER = "storyid,storytitle,sentence1,sentence2,sentence3,sentence4,sentence5\n"
GOOD = "g1,“Curly”,It’s Ann’s cake.,It rose.,She let it cool.,Her son came.,They ate it – all of it.\n"
BAD = "b1,Short,Only one sentence.,,,,\n"


# Stories


def test_a_file_with_a_bad_story_imports_nothing_and_says_where_it_is(command: Command) -> None:
    Path("stories.csv").write_text(HEADER + GOOD + BAD, encoding="utf-8")
    said = command("stories", "import", "stories.csv")
    assert said.code == 1
    assert "3" in said.err.splitlines()[0]
    assert "1 of 2 stories in stories.csv cannot be used; nothing was imported" in said.err
    assert not Path("humaneval.db").exists()


def test_skip_bad_imports_the_others_lists_the_bad_ones_and_counts_them(command: Command) -> None:
    Path("stories.csv").write_text(HEADER + GOOD + BAD, encoding="utf-8")
    said = command("stories", "import", "stories.csv", "--skip-bad", "--json")
    assert said.code == 0
    assert {name: said.json[name] for name in ("added", "already_there", "skipped")} == {
        "added": 1,
        "already_there": 0,
        "skipped": 1,
    }
    assert [problem["line"] for problem in said.json["problems"]] == [3]
    assert "sentence" in said.err
    assert [s["id"] for s in command("stories", "list", "--json").json["stories"]] == ["g1"]


def test_importing_twice_adds_nothing_and_a_story_keeps_its_split(command: Command) -> None:
    Path("stories.csv").write_text(HEADER + GOOD, encoding="utf-8")
    assert command("stories", "import", "stories.csv").out.endswith("1 story added, 0 existed already.\n")
    assert command("stories", "import", "stories.csv").out.endswith("0 stories added, 1 existed already.\n")
    said = command("stories", "import", "stories.csv", "--split", "test")
    assert said.out.endswith("1 existed already (1 in another split, where they stay).\n")


def test_a_story_with_an_id_that_is_taken_changes_nothing(command: Command) -> None:
    Path("stories.csv").write_text(HEADER + GOOD, encoding="utf-8")
    command("stories", "import", "stories.csv")
    Path("stories.csv").write_text(
        HEADER + GOOD.replace("g1", "g2") + GOOD.replace("cake", "pie"), encoding="utf-8"
    )
    said = command("stories", "import", "stories.csv")
    assert said.code == 1
    assert "story 'g1' is already in the database with other sentences" in said.err
    assert [s["id"] for s in command("stories", "list", "--json").json["stories"]] == ["g1"]


@pytest.mark.parametrize(
    "content",
    [
        (HEADER + GOOD).encode("utf-8-sig"),
        (HEADER + GOOD).encode("utf-16"),
        (HEADER + GOOD).replace("\n", "\r\n").replace(",", ";").encode("cp1252"),
    ],
    ids=["byte order mark", "utf-16", "cp1252 with semicolons"],
)
def test_C61_files_as_spreadsheets_save_them_are_read(command: Command, content: bytes) -> None:
    Path("stories.csv").write_bytes(content)
    assert command("stories", "import", "stories.csv").code == 0
    (story,) = command("stories", "list", "--json").json["stories"]
    assert story["title"] == "“Curly”"
    assert story["sentences"][4] == "They ate it – all of it."


def test_C62_C63_C64_curly_quotes_reach_stdout_and_files_whatever_the_locale(tmp_path: Path) -> None:
    (tmp_path / "stories.csv").write_text(HEADER + GOOD, encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "", "PYTHONCOERCECLOCALE": "0"}
    assert program("stories", "import", "stories.csv", **plain).returncode == 0
    for arguments in (["stories", "list"], ["stories", "show", "g1", "--json"]):
        done = program(*arguments, **plain)
        assert done.returncode == 0, done.stderr
        assert "It’s Ann’s cake.".encode() in done.stdout
        assert done.stderr == b""


def test_C64_a_file_name_that_the_locale_cannot_read_is_printed_as_it_is(study: str) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = program("study", "preview", study, "--out", "prévu.html", **plain)
    assert done.stderr == b""
    assert done.stdout == "prévu.html written\n".encode()


def test_brackets_and_colons_in_a_story_are_text(command: Command) -> None:
    row = "r1,[/b] :smile:,[/red] he wrote.,[bold]B b.,C c.,D d.,E e.\n"
    Path("stories.csv").write_text(HEADER + row, encoding="utf-8")
    command("stories", "import", "stories.csv")
    said = command("stories", "list")
    assert "[/b] :smile:" in said.out
    assert "[/red] he wrote." in said.out


# Generate


def test_a_replay_file_that_does_not_fit_the_stories_writes_nothing_for_any_of_its_systems(
    command: Command,
) -> None:
    command("stories", "import", "--bundled")
    story = bundled_stories()[-1].id
    lines = f"story,position,generator,text\n{story},1,first,Fine.\nnobody,1,second,Not fine.\n"
    Path("infills.csv").write_text(lines, encoding="utf-8")
    said = command("generate", "--generator", "replay", "--checkpoint", "infills.csv")
    assert said.code == 1
    assert "infills.csv:3: story 'nobody' is not in the database" in said.err
    assert command("stories", "show", story, "--json").json["infills"] == []


def test_generating_in_shards_and_again_ends_with_each_blank_once(command: Command) -> None:
    command("stories", "import", "--bundled")
    written = []
    for shard in ("1/3", "2/3", "3/3", "1/1"):
        (summary,) = command("generate", "--generator", "control", "--shard", shard, "--json").json
        written.append(sum(summary["written"].values()))
    assert sum(written) == 24 * 5
    assert written[-1] == 0


def test_progress_is_silent_in_a_pipe(command: Command) -> None:
    command("stories", "import", "--bundled")
    done = program("generate", "--generator", "human")
    assert done.stdout == b"human: 120 ok.\n"
    assert done.stderr == b""


# Studies


def test_X27_a_study_that_leaves_stories_out_says_how_many_it_has(command: Command) -> None:
    command("stories", "import", "--bundled")
    command("generate", "--generator", "control")
    command("generate", "--generator", "human", "--stories", "10")
    said = command("study", "create", "part", "--generators", "control,human")
    assert said.code == 0
    assert said.err == "The study uses 10 of 24 stories: those with infills by every generator.\n"
    assert "passages from 10 stories" in said.out


def fill_bundled(command: Command) -> None:
    command("stories", "import", "--bundled")
    for generator in ("control", "human"):
        command("generate", "--generator", generator, "--stories", "10")


def test_creating_a_study_prints_its_plan_in_short_and_all_of_it_as_json(command: Command) -> None:
    create = ("study", "create", "s", "--generators", "control,human")
    fill_bundled(command)
    said = command(*create)
    assert said.code == 0
    assert command("study", "plan", "s").out.splitlines()[0] in said.out
    assert "what it costs: humaneval study plan s\n" in said.out
    document, plan = command(*create, "--json").json, command("study", "plan", "s", "--json").json
    assert document["was_there"]
    assert {key: document[key] for key in plan} == plan


def test_a_plan_that_cannot_be_made_does_not_hide_the_study(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_bundled(command)

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("no such power")

    monkeypatch.setattr("humaneval.cli.study.create.outlook", fail)
    create = ("study", "create", "s", "--generators", "control,human", "--annotators", "1")
    said = command(*create)
    assert said.code == 0
    assert "Study 's' created: 1 form, 2 passages from " in said.out
    assert "its plan cannot be made: ZeroDivisionError: no such power" in said.err
    document = command(*create, "--json").json
    assert (document["study"], document["plan"]) == ("s", None)
    assert document["plan_error"] == "ZeroDivisionError: no such power"


def test_a_value_of_the_wrong_kind_is_told_in_plain_words(command: Command) -> None:
    assert "'x' is not a whole number." in command("study", "create", "s", "--annotators", "x").err
    assert "'x' is not a number." in command("study", "plan", "s", "--power", "x").err


def test_a_preview_is_the_page_without_its_script_and_without_who_wrote_what(
    command: Command, study: str
) -> None:
    assert command("study", "preview", study, "--row", "2").out == "study-row-2.html written\n"
    page = Path("study-row-2.html").read_text(encoding="utf-8")
    assert page.count("<fieldset") >= 4
    assert "<script" not in page
    for name in ("example-good", "example-poor", "human", "generator"):
        assert name not in page
    assert command("study", "preview", study, "--row", "99").code == 2


@pytest.mark.usefixtures("chromium_on_path")
def test_a_preview_can_be_a_picture_of_the_whole_page(command: Command, study: str) -> None:
    said = command("study", "preview", study, "--out", "page.png", "--width", "700")
    assert said.code == 0
    content = Path("page.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    width, height = (int.from_bytes(content[at : at + 4]) for at in (16, 20))
    assert width == 1400  # two dots a pixel, for print
    assert height > 1.5 * width


def test_a_picture_without_chromium_says_how_to_get_it(
    command: Command, study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    said = command("study", "preview", study, "--out", "page.png")
    assert said.code == 1
    assert "apt-get install chromium" in said.err


# Settings, files, this machine


def test_init_writes_two_files_and_leaves_those_alone_that_exist(command: Command) -> None:
    Path("study.toml").write_text("mine", encoding="utf-8")
    said = command("init")
    assert said.out.splitlines()[:2] == ["humaneval.toml written", "study.toml exists; left as it is"]
    assert Path("study.toml").read_text(encoding="utf-8") == "mine"
    Path("study.toml").unlink()
    command("init")
    assert command("config", "show").code == 0
    assert "there is no database" in command("study", "create", "s", "--file", "study.toml").err


def test_C67_config_show_says_where_each_value_came_from(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("humaneval.toml").write_text('host = "0.0.0.0"\nport = 1\n', encoding="utf-8")
    monkeypatch.setenv("HUMANEVAL_PORT", "2")
    monkeypatch.setenv("HUMANEVAL_SECRET_KEY", "a-secret-of-more-than-16-characters")
    said = command("--database", "postgres://ann:open-sesame@h/db", "config", "show", "--json")
    found = {line["setting"]: (line["value"], line["origin"]) for line in said.json}
    assert found["database"] == ("postgresql+psycopg://ann:***@h/db", "flag")
    assert found["port"] == ("2", "environment HUMANEVAL_PORT")
    assert found["host"] == ("0.0.0.0", "file humaneval.toml")
    assert found["market_url"][1] == "default"
    assert found["secret_key"] == ("(set)", "environment HUMANEVAL_SECRET_KEY")
    table = command("config", "show").out
    assert "a-secret" not in said.out + table
    assert "environment HUMANEVAL_PORT" in table


def test_doctor_says_what_works_and_makes_nothing(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PUBLIC_URL", "MARKET_URL"):  # somebody else may listen on the usual ports
        monkeypatch.setenv(f"HUMANEVAL_{name}", f"http://127.0.0.1:{free_port()}")
    said = command("doctor")
    assert said.code == 0
    assert re.search(r"^ok +Python: 3", said.out, re.M)
    assert "Database: humaneval.db will be made" in said.out
    assert said.out.splitlines()[-2:] == ["Next: humaneval serve", "Also: humaneval market serve"]
    assert list(Path().iterdir()) == []


def test_doctor_fails_where_the_database_cannot_be_used(command: Command) -> None:
    Path("humaneval.db").write_text("no database " * 100, encoding="utf-8")
    said = command("doctor", "--json")
    assert said.code == 1
    assert {f["what"]: f["ok"] for f in said.json}["Database"] is False


def test_looking_for_a_database_does_not_make_one(command: Command) -> None:
    for verb in ("check", "backup"):
        assert "holds no data of this toolkit" in command("db", verb).err
    assert "there is no database mistyped.db" in command("--database", "mistyped.db", "db", "upgrade").err
    assert list(Path().iterdir()) == []


def test_db_upgrade_fills_an_empty_database_once_and_db_backup_copies_it(
    command: Command, sqlite_engine: Engine, sqlite_database: str
) -> None:
    Path("new.db").touch()
    assert command("--database", "new.db", "db", "upgrade").out == f"Upgraded from nothing to {HEAD}.\n"
    assert command("--database", "new.db", "db", "upgrade").out == f"Already at revision {HEAD}.\n"
    with writing(sqlite_engine) as session:
        session.add(MetaRow(key="kept", value="yes"))
    assert (
        command("--database", sqlite_database, "db", "backup", "--out", "copy.db").out
        == "Copied to copy.db.\n"
    )
    assert command("--database", "copy.db", "db", "check").out == "The database is sound.\n"
    assert command("--database", sqlite_database, "db", "backup", "--out", "copy.db").code == 2
    said = command("--database", sqlite_database, "db", "backup", "--out", "nowhere/copy.db")
    assert (said.code, said.err.splitlines()[0]) == (
        2,
        "Error: the folder nowhere for the copy does not exist",
    )


def test_db_upgrade_leaves_somebody_elses_database_alone(command: Command) -> None:
    import sqlite3

    connection = sqlite3.connect("theirs.db")
    connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.commit()
    for verb in ("upgrade", "check", "backup"):
        assert "has tables that are not this toolkit's" in command("--database", "theirs.db", "db", verb).err
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("recipes",)]
    connection.close()


# Scores

PUBLISHED = {
    "Control": (0, 0),
    "BERT": (19, 20),
    "SA": (28, 29),
    "LM (scratch)": (38, 40),
    "LM": (39, 41),
    "ILM (scratch)": (37, 39),
    "ILM": (43, 45),
    "Human": (74, 78),
}
"""Of 95 annotators, how many did not mark the machine's sentence, and the score that was printed."""


@pytest.fixture
def published() -> Path:
    """A response table with the published counts: 100 annotators, of whom 5 miss the control."""
    path = Path("responses.csv")
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["worker", "story", "generator", "position", "choice"])
        for worker in range(100):
            for generator, (unnoticed, _) in PUBLISHED.items():
                missed = worker < unnoticed if worker < 95 else True
                position = worker % 5 + 1
                choice = position % 5 + 1 if missed else position
                writer.writerow([f"w{worker}", f"s{worker}-{generator}", generator, position, choice])
    return path


def test_the_published_counts_give_the_published_scores(command: Command, published: Path) -> None:
    document = command("score", "--responses", published, "--json").json
    assert document["annotators"] == {"collected": 100, "excluded": 5, "analysed": 95}
    found = {
        line["generator"]: (line["not_identified"], line["n"], line["score"]) for line in document["scores"]
    }
    assert {name: (count, n) for name, (count, n, _) in found.items()} == {
        name: (count, 95) for name, (count, _) in PUBLISHED.items()
    }
    assert {name: round(100 * score) for name, (_, _, score) in found.items()} == {
        name: score for name, (_, score) in PUBLISHED.items()
    }


def test_the_published_scores_are_printed_with_who_was_excluded(command: Command, published: Path) -> None:
    said = command("score", "--responses", published)
    assert said.code == 0
    for name, (count, score) in PUBLISHED.items():
        (found,) = re.findall(rf"^{re.escape(name)} +(\d+\.\d) .* (\d+) / 95 ", said.out, re.M)
        assert (found[1], round(100 * count / 95)) == (str(count), score)
        assert abs(float(found[0]) - 100 * count / 95) <= 0.05
    flow = "5 of 100 annotators were excluded (missed a Control passage: 5); 95 were analysed."
    assert flow in " ".join(said.out.split())


def test_a_table_without_a_control_is_scored_when_nobody_is_to_be_left_out(
    command: Command, tmp_path: Path
) -> None:
    table = tmp_path / "table.csv"
    lines = [f"w{n},s{n}-{g},{g},{n % 5 + 1},1" for n in range(10) for g in ("ilm", "human")]
    table.write_text("worker,story,generator,position,choice\n" + "\n".join(lines) + "\n", encoding="utf-8")
    refused = command("score", "--responses", table)
    assert refused.code == 1
    assert "--missed-control none" in refused.err
    scores = command("score", "--responses", table, "--missed-control", "none", "--json").json["scores"]
    assert [(row["generator"], row["n"], row["not_identified"]) for row in scores] == [
        ("ilm", 10, 8),
        ("human", 10, 8),
    ]
