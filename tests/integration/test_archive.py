"""The archive: the same bytes twice, scores that come out again without the database, and nothing changed
goes through."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest
from sqlalchemy import Engine, select

from humaneval.cli.main import main
from humaneval.report import archive_check
from humaneval.report.archive import DIGITS, MANIFEST, sha256, zipped
from humaneval.report.archive_document import document
from humaneval.store.engine import open_engine, reading
from humaneval.store.tables import StoryRow, WorkerIdentityRow
from tests.answered import answer
from tests.commands import Command, program
from tests.conftest import ROOT, lacking
from tests.pace import PATIENCE

Files = dict[str, bytes]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer bootstrap replicates: they are of no account here."""
    monkeypatch.setattr("humaneval.scoring.analysis.models.REPLICATES", 200)


@dataclass(frozen=True)
class Made:
    """An answered study and its archive."""

    database: Path
    archive: Path


@pytest.fixture(scope="module")
def made(
    sqlite_template: Path, study_factory: Callable[..., object], tmp_path_factory: pytest.TempPathFactory
) -> Made:
    folder = tmp_path_factory.mktemp("archived")
    made = Made(folder / "humaneval.db", folder / "a.zip")
    shutil.copy(sqlite_template, made.database)
    address = f"sqlite:///{made.database}"
    engine = open_engine(address)
    study_factory(engine, "study")
    answer(engine)
    engine.dispose()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()):
        patch.setattr("humaneval.scoring.analysis.models.REPLICATES", 200)
        with pytest.raises(SystemExit, match="0"):
            main(["--database", address, "archive", "study", "--out", str(made.archive)])
    return made


@pytest.fixture
def archived(made: Made, sqlite_engine: Engine, study: str, tmp_path: Path) -> Path:
    """The archive, in a folder of its own beside the database that it was made from."""
    sqlite_engine.dispose()
    shutil.copy(made.database, tmp_path / "humaneval.db")
    shutil.copy(made.archive, "a.zip")
    return Path("a.zip")


def contents(path: Path) -> Files:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sealed(files: Files) -> Files:
    """With a manifest that fits: what somebody makes who changes an archive with care."""
    told = json.loads(files[MANIFEST])
    told["files"] = {
        name: {"sha256": sha256(data), "bytes": len(data)} for name, data in files.items() if name != MANIFEST
    }
    return {**files, MANIFEST: document(told)}


def with_one_response_changed(files: Files) -> Files:
    lines = list(csv.reader(io.StringIO(files["responses.csv"].decode())))
    at, generator = lines[0].index("choice"), lines[0].index("generator")
    row = next(
        line
        for line in lines[1:]
        if line[generator] == "example-good" and line[at] == line[lines[0].index("position")]
    )
    row[at] = str(int(row[at]) % 5 + 1)
    head, *rest = lines
    numbers = [head.index(name) for name in ("position", "choice", "row", "order", "infill", "words")]
    numbers += [
        head.index(name) for name in ("row_passages", "seconds", "test", "simulated", "platform_lost")
    ]
    cells = [
        [cell if place in numbers or not cell else f'"{cell}"' for place, cell in enumerate(line)]
        for line in rest
    ]
    text = "".join(",".join(line) + "\n" for line in [head, *cells])
    return {**files, "responses.csv": text.encode()}


def test_archiving_twice_gives_the_same_bytes(archived: Path, study: str, command: Command) -> None:
    assert command("archive", study, "--out", "b.zip").code == 0
    assert Path("b.zip").read_bytes() == archived.read_bytes()
    names = zipfile.ZipFile(archived).namelist()
    assert names == sorted(names)
    assert {entry.date_time for entry in zipfile.ZipFile(archived).infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_the_scores_come_out_byte_for_byte_where_there_is_no_database(
    archived: Path, study: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As many replicates as in the other program: details that differ are refused.
    monkeypatch.setattr("humaneval.scoring.analysis.models.REPLICATES", 2000)
    assert command("archive", study, "--out", archived).code == 0
    before = contents(archived)
    done = program(
        "archive",
        "--check",
        str(archived),
        "--json",
        HUMANEVAL_DATABASE="sqlite:////nowhere/at/all.db",
        LC_ALL="C",
        TZ="Asia/Kathmandu",
        PYTHONHASHSEED="7",
        OMP_NUM_THREADS="1",
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["responses"] == 160
    assert found["sha256"] == sha256(before[MANIFEST])
    assert not list(Path().glob("*.db-journal"))
    assert contents(archived) == before


def test_checking_neither_opens_nor_makes_a_database(
    archived: Path, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    there = set(tmp_path.iterdir())
    monkeypatch.setenv("HUMANEVAL_DATABASE", f"sqlite:///{tmp_path}/other.db")
    assert command("archive", "--check", archived).code == 0
    assert set(tmp_path.iterdir()) == there


def test_scores_json_is_what_score_prints(archived: Path, study: str, command: Command) -> None:
    said = command("score", study, "--json").json
    assert contents(archived)["scores.json"] == document(said, DIGITS)

    def walk(one: object, other: object) -> None:
        if isinstance(one, dict) and isinstance(other, dict):
            assert one.keys() == other.keys()
            for name in one:
                walk(one[name], other[name])
        elif isinstance(one, list) and isinstance(other, list):
            for a, b in zip(one, other, strict=True):
                walk(a, b)
        else:
            assert one == pytest.approx(other, rel=1e-7) if isinstance(one, float) else one == other

    walk(json.loads(contents(archived)["scores.json"]), said)


def test_every_file_is_there_with_its_hash_and_no_worker_id_and_no_sentence_of_a_story(
    archived: Path, sqlite_engine: Engine
) -> None:
    files = contents(archived)
    listed = json.loads(files[MANIFEST])["files"]
    assert set(listed) | {MANIFEST} == set(files)
    assert all(listed[name] == {"sha256": sha256(files[name]), "bytes": len(files[name])} for name in listed)
    assert set(files) >= {
        "README.md",
        "responses.csv",
        "study.toml",
        "study.json",
        "rule.json",
        "design.json",
        "scores.json",
        "details.json",
        "datasheet.md",
        "datasheet.json",
        "methods.txt",
        "methods.tex",
        "versions.json",
        "infills/infills.csv",
        "infills/codebook.md",
    }
    text = b"\n".join(files.values()).decode()
    with reading(sqlite_engine) as session:
        stories = session.scalars(select(StoryRow)).all()
        assert stories
        told = [sentence for story in stories for sentence in story.sentences]
        assert not [sentence for sentence in told if sentence in text]
        ids = session.scalars(select(WorkerIdentityRow.external_id)).all()
    assert ids
    assert not [one for one in ids if one in text]
    readme = files["README.md"].decode()
    assert "numpy" in readme
    for name in set(files) - {"README.md"}:
        assert f"`{'infills/' if name.startswith('infills/') else name}`" in readme, name


def test_programs_are_called_so_in_the_readme(sqlite_engine: Engine, study: str, command: Command) -> None:
    answer(sqlite_engine, programs=1000)
    command("archive", study, "--out", "a.zip")
    assert "responses of programs" in contents(Path("a.zip"))["README.md"].decode()
    assert command("archive", "--check", "a.zip").code == 0


def test_one_response_changed_and_the_hash_is_refused(archived: Path, command: Command) -> None:
    archived.write_bytes(zipped(with_one_response_changed(contents(archived))))
    said = command("archive", "--check", archived)
    assert said.code == 1
    assert "responses.csv is not the file that was archived: its SHA-256 is" in said.err
    assert said.err.count("\n") == 2


def test_one_response_changed_with_care_and_the_scores_are_refused(archived: Path, command: Command) -> None:
    archived.write_bytes(zipped(sealed(with_one_response_changed(contents(archived)))))
    said = command("archive", "--check", archived)
    assert said.code == 1
    assert "the recomputed scores differ: scores.json: " in said.err
    assert " in the archive, " in said.err
    assert "the versions installed here, so it was changed after it was made" in said.err
    assert "boto3" not in said.err


def test_another_version_is_named_where_scores_come_out_differently(archived: Path, command: Command) -> None:
    files = with_one_response_changed(contents(archived))
    made = {**json.loads(files["versions.json"]), "numpy": "1.0"}
    archived.write_bytes(zipped(sealed({**files, "versions.json": document(made)})))
    said = command("archive", "--check", archived)
    assert said.code == 1
    assert "It was changed, or made by another version: numpy 1.0 (here: " in said.err


def test_a_rule_that_is_not_the_studys_is_refused(archived: Path, command: Command) -> None:
    files = contents(archived)
    told = json.loads(files["rule.json"])
    told[0]["description"] = "Nobody is left out."
    archived.write_bytes(zipped(sealed({**files, "rule.json": document(told)})))
    said = command("archive", "--check", archived)
    assert said.code == 1
    assert "the rules differ from those of study.json: " in said.err
    assert "rule.json 1: description is 'Nobody is left out.'" in said.err


def test_a_score_changed_with_care_is_refused_in_its_last_digit(archived: Path, command: Command) -> None:
    files = contents(archived)
    told = json.loads(files["scores.json"])
    told["scores"][1]["interval"][0] += 1e-8
    archived.write_bytes(zipped(sealed({**files, "scores.json": document(told, DIGITS)})))
    said = command("archive", "--check", archived)
    assert said.code == 1
    assert "scores.json: scores 2: interval 1 is" in said.err


def test_an_archive_from_before_there_were_questions_is_sound(archived: Path, command: Command) -> None:
    files = contents(archived)
    about, told = json.loads(files["study.json"]), json.loads(files["scores.json"])
    del about["settings"]["question"], about["settings"]["answers"], told["question"]
    older = {**files, "study.json": document(about), "scores.json": document(told, DIGITS)}
    archived.write_bytes(zipped(sealed(older)))
    said = command("archive", "--check", archived)
    assert said.code == 0, said.err


def test_details_that_differ_are_refused(archived: Path, command: Command) -> None:
    files = contents(archived)
    told = json.loads(files["details.json"])
    told["seed"] += 1
    archived.write_bytes(zipped(sealed({**files, "details.json": document(told, 6)})))
    said = command("archive", "--check", archived)
    assert said.code == 1
    assert "the scores are right, but the recomputed details differ: details.json: seed is 1" in said.err


def _added(name: str, data: bytes = b"x") -> Callable[[Files], Files]:
    return lambda files: {**files, name: data}


def of_sentences(files: dict[str, bytes], *, told: object) -> dict[str, bytes]:
    """The archive of a study whose stories have so many sentences."""
    about = json.loads(files["study.json"])
    return sealed({**files, "study.json": document({**about, "sentences": told})})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_added("extra.txt"), "extra.txt is in the zip but not in its manifest"),
        (_added("../../climbs.txt"), "'../../climbs.txt' leads out of the archive"),
        (_added("/etc/absolute.txt"), "leads out of the archive"),
        (_added("C:\\windows.txt"), "leads out of the archive"),
        (lambda files: {n: d for n, d in files.items() if n != "design.json"}, "design.json is missing"),
        (lambda files: {n: d for n, d in files.items() if n != MANIFEST}, "not the archive of a study"),
        (
            lambda files: sealed({n: d for n, d in files.items() if n != "study.json"}),
            "not the archive of a study: it has no study.json",
        ),
        (lambda files: {**files, MANIFEST: b"{"}, "MANIFEST.json cannot be read"),
        (lambda files: {**files, MANIFEST: b"[" * 100_000}, "MANIFEST.json cannot be read"),
        (
            lambda files: {**files, MANIFEST: document({"format": "x 2", "files": {}})},
            "has the unknown format 'x 2'",
        ),
        (lambda files: sealed({**files, "study.json": b"[]"}), "study.json is not that of an archive"),
        (
            lambda files: sealed({**files, "study.json": b'{"study": "s", "responses": 1e999}'}),
            "study.json is not that of an archive",
        ),
        *(
            (partial(of_sentences, told=told), f"study.json says that a story has {told} sentences")
            for told in (10**9, 2, -1, "many", 5.5, True)
        ),
        (
            lambda files: sealed(
                {
                    **files,
                    "study.json": (
                        files["study.json"].replace(b'"locale"', b'"x"').replace(b'"positions"', b'"places"')
                    ),
                }
            ),
            "does not know the setting design.places",
        ),
        (lambda files: sealed({**files, "responses.csv": b"worker,story\n1,2\n"}), "responses.csv"),
    ],
)
def test_what_is_no_whole_archive_is_said_in_a_line(
    archived: Path, command: Command, change: Callable[[Files], Files], words: str
) -> None:
    before = set(Path().rglob("*"))
    archived.write_bytes(zipped(change(contents(archived))))
    said = command("archive", "--check", archived)
    assert said.code == 1
    assert words in said.err
    assert said.err.count("\n") <= 2
    assert set(Path().rglob("*")) == before


def test_a_bomb_is_not_unpacked(archived: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("humaneval.report.archive_check.FILE", 10_000_000)
    parts = {f"noise {part}": os.urandom(1_000_000) * 3 for part in range(4)}
    archived.write_bytes(zipped(sealed({**contents(archived), **parts})))
    read = []
    real = zipfile.ZipFile.read
    monkeypatch.setattr(
        zipfile.ZipFile, "read", lambda self, name, *a: read.append(name) or real(self, name, *a)
    )
    said = command("archive", "--check", archived)
    assert said.code == 1
    assert "unpacked, it would take more than" in said.err
    assert read == [MANIFEST]


def test_a_file_that_is_packed_too_tightly_is_not_unpacked(archived: Path, command: Command) -> None:
    files = contents(archived)
    for name in ("responses.csv", "details.json", "zeros"):
        path = Path(f"with {name}.zip")
        path.write_bytes(zipped(sealed({**files, name: files.get(name, b"") + bytes(20_000_000)})))
        assert path.stat().st_size < 1_000_000
        said = command("archive", "--check", path)
        assert said.code == 1
        assert said.err.startswith(f"Error: {path}: {name} would unpack from ")
        assert said.err.count("\n") == 2


def test_documents_of_any_shape_are_refused_in_a_line(archived: Path, command: Command) -> None:
    files = contents(archived)
    deep, others = b"[" * 200_000, (b'{"a":' * 200_000, b"[[[]]]", b'{"study": 1, "responses": "x"}')
    tried = {MANIFEST: (deep, *others), "study.json": (deep, *others), "scores.json": (deep,)}
    for name, texts in tried.items():
        for text in texts:
            changed = {**files, name: text}
            archived.write_bytes(zipped(changed if name == MANIFEST else sealed(changed)))
            said = command("archive", "--check", archived)
            assert said.code == 1
            assert said.err.startswith("Error: ")
            assert "Traceback" not in said.err
            assert said.err.count("\n") <= 2


def test_a_document_that_is_too_large_is_not_read(
    archived: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(archive_check.MOST, "scores.json", 100)
    said = command("archive", "--check", archived)
    assert said.code == 1
    assert said.err.startswith("Error: a.zip: scores.json is too large: ")


@pytest.mark.parametrize("harm", ["cut", "flipped", "text", "empty", "folder", "absent"])
def test_what_is_no_zip_or_a_damaged_one_is_said_in_a_line(
    archived: Path, command: Command, harm: str
) -> None:
    data = archived.read_bytes()
    path = Path("harmed.zip")
    if harm == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif harm == "flipped":
        middle = data.index(b"responses.csv") + 3000
        path.write_bytes(
            data[:middle] + bytes(byte ^ 0xFF for byte in data[middle : middle + 50]) + data[middle + 50 :]
        )
    elif harm == "text":
        path.write_text("worker,story\n", encoding="utf-8")
    elif harm == "empty":
        path.write_bytes(b"")
    elif harm == "folder":
        path.mkdir()
    said = command("archive", "--check", path)
    assert said.code == 1
    assert said.err.startswith("Error: harmed.zip")
    assert said.err.count("\n") <= 2


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["archive"], 2, "give either a STUDY to archive"),
        (["archive", "study", "--check", "a.zip"], 2, "give either a STUDY to archive"),
        (["archive", "--check", "a.zip", "--tests"], 2, "--check takes no other options"),
        (["archive", "nothing"], 2, "there is no study 'nothing'"),
        (["archive", "study"], 1, "has no responses yet"),
    ],
)
def test_what_makes_no_archive_is_said(
    command: Command, study: str, arguments: list[str], code: int, words: str
) -> None:
    said = command(*arguments)
    assert (said.code, words in said.err) == (code, True), said.err
    assert not list(Path().glob("*.zip*"))


def test_a_place_that_cannot_be_written_leaves_nothing(archived: Path, study: str, command: Command) -> None:
    said = command("archive", study, "--out", "nowhere/a.zip")
    assert said.code == 1
    assert "nowhere/a.zip cannot be written: the folder nowhere does not exist" in said.err
    assert not Path("nowhere").exists()


def test_a_pilot_is_archived_when_it_is_asked_for(
    sqlite_engine: Engine, sqlite_database: str, study_factory: Callable[..., object], command: Command
) -> None:
    study_factory(sqlite_engine, "study", design={"pilot": True})
    answer(sqlite_engine)
    there = ["--database", sqlite_database]
    assert "tests or pilots" in command(*there, "archive", "study").err
    assert command(*there, "archive", "study", "--tests").code == 0
    assert command("archive", "--check", "study.zip").code == 0


@pytest.mark.slow
def test_a_fresh_environment_with_the_package_gives_the_same_scores(
    archived: Path, study: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wheel in an environment of its own; its libraries are the ones of this environment, for there is no
    network."""
    monkeypatch.setattr("humaneval.scoring.analysis.models.REPLICATES", 2000)
    assert command("archive", study, "--out", archived).code == 0
    for package in ("build", "hatchling"):
        if find_spec(package) is None:
            lacking(f"the package {package}", "pip install 'humaneval-toolkit[test]'")

    def run(*command: object, **environment: str) -> str:
        done = subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            timeout=PATIENCE,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OMP_NUM_THREADS": "1", **environment},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path / "wheel", ROOT)
    (wheel,) = (tmp_path / "wheel").glob("*.whl")
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "fresh")
    python = tmp_path / "fresh" / "bin" / "python"
    target = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    run(
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-compile",
        "--target",
        target,
        wheel,
    )
    import numpy

    libraries = Path(numpy.__file__).parent.parent
    # Behind its own packages, and without the links of an editable installation.
    (target / "libraries.pth").write_text(
        f"import sys; sys.path.append({str(libraries)!r})\n", encoding="utf-8"
    )
    said = run(
        python,
        "-m",
        "humaneval",
        "archive",
        "--check",
        archived.resolve(),
        HUMANEVAL_DATABASE="sqlite:////nowhere/x.db",
    )
    assert "give the same scores.json, byte for byte" in said
    where = run(python, "-c", "import humaneval; print(humaneval.__file__)")
    assert where.startswith(str(target))
