"""`export --infills`: infills and passages as a folder that may be given away."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path

import pytest

from humaneval.domain import Story
from tests.commands import Command

SENTENCES = [f"sentence{number}" for number in range(1, 6)]


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, strict=True))


def shown_hash(sentences: list[str]) -> str:
    return hashlib.sha256("\n".join(sentences).encode()).hexdigest()


def test_the_folder_holds_what_machines_wrote_and_none_of_the_stories_sentences(
    command: Command, study: str
) -> None:
    said = command("export", study, "--infills", "--out", "release", "--json")
    assert said.code == 0
    folder = Path("release")
    assert sorted(path.name for path in folder.iterdir()) == [
        "codebook.md",
        "infills.csv",
        "passages.csv",
        "runs.json",
    ]
    infills, passages = table(folder / "infills.csv"), table(folder / "passages.csv")
    assert said.json["infills"] == len(infills) > 0
    assert said.json["passages"] == len(passages) > 0
    assert "human" not in {line["generator"] for line in infills}
    assert "human" in {line["generator"] for line in passages}
    text = "".join(path.read_text(encoding="utf-8") for path in folder.iterdir())
    shown = command("stories", "show", passages[0]["story"], "--json").json["sentences"]
    assert not any(sentence in text for sentence in shown)


def test_who_has_the_stories_puts_every_passage_together_and_proves_it(
    command: Command, study: str, stories: tuple[Story, ...]
) -> None:
    told = {story.id: story.sentences for story in stories}
    command("export", study, "--infills", "--out", "release")
    infills = {line["infill"]: line for line in table(Path("release/infills.csv"))}
    for passage in table(Path("release/passages.csv")):
        sentences = list(told[passage["story"]])
        if passage["role"] != "human":
            infill = infills[passage["infill"]]
            assert [infill[name] for name in ("story", "position", "generator")] == [
                passage[name] for name in ("story", "position", "generator")
            ]
            sentences[int(passage["position"]) - 1] = infill["text"]
        assert shown_hash(sentences) == passage["shown_hash"]


def test_with_stories_the_folder_is_whole_and_its_stories_are_read_back(command: Command, study: str) -> None:
    said = command("export", study, "--infills", "--out", "release", "--with-stories", "--json")
    folder = Path("release")
    assert said.json["stories"] == len(table(folder / "stories.csv"))
    for passage in table(folder / "passages.csv"):
        assert shown_hash([passage[name] for name in SENTENCES]) == passage["shown_hash"]
    assert {line["generator"] for line in table(folder / "infills.csv")} >= {"human", "control"}
    elsewhere = ["--database", "other.db"]
    imported = command(*elsewhere, "stories", "import", folder / "stories.csv", "--json")
    assert imported.json["added"] == said.json["stories"]


def test_the_infills_can_be_replayed_in_another_database(command: Command, study: str) -> None:
    command("export", study, "--infills", "--out", "release", "--with-stories")
    elsewhere = ["--database", "other.db"]
    command(*elsewhere, "stories", "import", "release/stories.csv", "--split", "test")
    done = command(
        *elsewhere,
        "generate",
        "--generator",
        "replay",
        "--checkpoint",
        "release/infills.csv",
        "--option",
        "generator=control",
        "--stories",
        "3",
    )
    assert done.code == 0, done.err
    command(*elsewhere, "export", "--infills", "--out", "again")
    first = {
        (line["story"], line["position"]): line["text"]
        for line in table(Path("release/infills.csv"))
        if line["generator"] == "control"
    }
    again = table(Path("again/infills.csv"))
    assert len(again) == 15
    same = [line for line in again if line["status"] == "ok"]
    assert same
    assert all(first[line["story"], line["position"]] == line["text"] for line in same)


def test_every_run_is_there_with_its_settings_and_the_codebook_names_every_column(
    command: Command, study: str
) -> None:
    command("export", "--infills", "--out", "release", "--with-stories")
    folder = Path("release")
    runs = {run["run"]: run for run in json.loads((folder / "runs.json").read_text(encoding="utf-8"))}
    for line in table(folder / "infills.csv"):
        assert runs[int(line["run"])]["generator"] == line["generator"]
    assert {"kind", "checkpoint", "seed", "settings", "versions", "hash"} <= set(next(iter(runs.values())))
    codebook = (folder / "codebook.md").read_text(encoding="utf-8")
    for name in ("infills.csv", "passages.csv", "stories.csv"):
        for column in table(folder / name)[0]:
            assert f"`{column}`" in codebook, column
    for field in next(iter(runs.values())):
        assert f"`{field}`" in codebook, field


def test_C62_texts_come_back_as_they_were_and_with_excel_none_is_a_formula(command: Command) -> None:
    Path("stories.csv").write_text(
        'storyid,storytitle,sentence1,sentence2,sentence3,sentence4,sentence5\ns1,T,"A, “a”.",B b.,C c.,D'
        " d.,E e.\n",
        encoding="utf-8",
    )
    command("stories", "import", "stories.csv", "--split", "test")
    text = '=HYPERLINK("x", "it’s, “so” 🙂")'
    line = json.dumps({"story": "s1", "position": 2, "generator": "g", "text": text}, ensure_ascii=False)
    Path("g.jsonl").write_text(line + "\n", encoding="utf-8")
    assert (
        command("generate", "--generator", "replay", "--checkpoint", "g.jsonl", "--positions", "2").code == 0
    )
    command("export", "--infills", "--out", "plain")
    command("export", "--infills", "--out", "excel", "--excel")
    assert table(Path("plain/infills.csv"))[0]["text"] == f"'{text}"
    content = Path("excel/infills.csv").read_bytes()
    assert content.startswith(b"\xef\xbb\xbf")
    assert "'=HYPERLINK" in content.decode("utf-8-sig")
    command("generators", "forget", "g")
    replay = ("generate", "--generator", "replay", "--positions", "2")
    assert command(*replay, "--checkpoint", "excel/infills.csv").code == 0
    command("export", "--infills", "--out", "again")
    assert table(Path("again/infills.csv"))[0]["text"] == f"'{text}"


def test_what_is_there_already_is_never_touched(command: Command, study: str) -> None:
    Path("release").mkdir()
    (Path("release") / "mine.txt").write_text("mine", encoding="utf-8")
    said = command("export", study, "--infills", "--out", "release")
    assert said.code == 1
    assert said.err.startswith("release exists already") or "release exists already" in said.err
    assert [path.name for path in Path("release").iterdir()] == ["mine.txt"]
    assert not Path("release.part").exists()
    Path("file").write_text("mine", encoding="utf-8")
    assert command("export", study, "--infills", "--out", "file").code == 1
    assert command("export", study, "--infills", "--out", "file/below").code == 1
    assert Path("file").read_text(encoding="utf-8") == "mine"
    Path("empty").mkdir()
    assert command("export", study, "--infills", "--out", "empty").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["export"], 2, "Missing option '--out'"),
        (["export", "--out", "f.csv"], 2, "name a study"),
        (["export", "nothing", "--infills", "--out", "release"], 2, "there is no study 'nothing'"),
        (["export", "--infills", "--out", "release"], 1, "there are no infills yet"),
        (["export", "s", "--out", "f.csv", "--infills", "--comments"], 2, "do not go together"),
        (["export", "s", "--out", "f.csv", "--with-stories"], 2, "goes with --infills"),
    ],
)
def test_what_cannot_be_exported_is_said(
    command: Command, sqlite_database: str, arguments: list[str], code: int, words: str
) -> None:
    said = command(*arguments)
    assert said.code == code
    assert words in said.err
    assert not Path("release").exists()
