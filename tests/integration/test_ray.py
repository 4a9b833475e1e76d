"""Generating on Ray: an actor that is killed costs nothing and doubles nothing, and faults end in one clear
line.

Ray runs in programs of its own: it opens sockets that no test may open.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select

from humaneval.domain import POSITIONS, Provenance, Story
from humaneval.infills.blanks import blanks_of
from humaneval.infills.ray_cluster import parts_of
from humaneval.store.engine import reading
from humaneval.store.stories import add_stories
from humaneval.store.tables import GeneratorRow, InfillRow, RunRow, StoryRow
from tests.commands import Command
from tests.conftest import ROOT
from tests.pace import PATIENCE

needs_ray = pytest.mark.skipif(
    find_spec("ray") is None, reason="needs ray: pip install 'humaneval-toolkit[ray]'"
)

KIND = '''
"""A slow generator of another package. It logs in a folder which process wrote what; it can die or fail."""
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from humaneval.domain import Infill, Provenance
from humaneval.errors import InputError


@dataclass(frozen=True)
class Slow:
    name: str
    seed: int
    folder: Path
    does: str
    batch: int
    others: bool

    @property
    def provenance(self):
        versions = {"process": str(os.getpid())} if self.does == "differ" else {"slow": "1"}
        settings, batch = {"does": self.does}, {"size": self.batch}
        return Provenance("slow", "weights sha256:00", self.seed, settings, batch, versions)

    def wait_for(self, processes):
        """On a busy machine one actor may be through before another has begun, or was begun anew."""
        until = time.monotonic() + 300
        while self.others and len(os.listdir(self.folder)) < processes and time.monotonic() < until:
            time.sleep(0.02)

    def infill(self, blanks):
        (self.folder / str(os.getpid())).touch()
        self.wait_for(2)
        for written, blank in enumerate(blanks):
            if written == 3:
                self.wait_for(3)
            if self.does == "die" and blank.position == 5:
                os.kill(os.getpid(), signal.SIGKILL)
            if self.does == "fail" and blank.position == 5:
                raise InputError("the weights are spoilt", "Fetch them anew.")
            if self.others:
                time.sleep(0.05)
            with open(self.folder / str(os.getpid()), "a") as log:
                log.write(f"{blank.story.id} {blank.position}\\n")
            yield Infill(blank, f"Sentence {self.seed} for {blank.story.id} at {blank.position}.")


def build(request):
    options = request.options
    folder, does = Path(options["folder"]), options.get("does", "")
    if does == "differ":
        (folder / str(os.getpid())).touch()  # nobody writes before two are built
    others = request.name == "on-ray" or does == "differ"
    return [Slow(request.name or "slow", request.seed, folder, does, 2, others)]
'''
DRIVER = """
import sys, ray
memory = 100_000_000
ray.init(
    address="local", num_cpus=2, object_store_memory=memory, include_dashboard=False, log_to_driver=False
)
from humaneval.cli.main import main
main(sys.argv[1:])
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path, sqlite_database: str) -> Iterator[Start]:
    """Starts `humaneval generate --generator slow …`, with the kind installed as another package is."""
    information = tmp_path / "theirs" / "slow_kind-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: slow-kind\nVersion: 1.0\n", encoding="utf-8"
    )
    (information / "entry_points.txt").write_text(
        "[humaneval.generators]\nslow = slow_kind:build\n", encoding="utf-8"
    )
    (tmp_path / "theirs" / "slow_kind.py").write_text(KIND, encoding="utf-8")
    (tmp_path / "log").mkdir()
    paths = os.pathsep.join([str(tmp_path / "theirs"), str(ROOT)])
    environment = {
        **os.environ,
        "PYTHONPATH": paths,
        "HUMANEVAL_DATABASE": sqlite_database,
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    running: list[subprocess.Popen[str]] = []

    def begin(*arguments: str, on_ray: bool = True) -> subprocess.Popen[str]:
        program = ["-c", DRIVER] if on_ray else ["-m", "humaneval"]
        line = ["generate", "--generator", "slow", "--option", f"folder={tmp_path / 'log'}", "--json"]
        ray = ["--ray", "--actors", "2"] if on_ray else []
        running.append(
            subprocess.Popen(
                [sys.executable, *program, *line, *ray, *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
            )
        )
        return running[-1]

    yield begin
    for process in running:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=PATIENCE)


def stored(engine: Engine, name: str) -> dict[tuple[str, int], str]:
    """A generator's texts by story and position; fails where a blank has two."""
    with reading(engine) as session:
        lines = session.execute(
            select(StoryRow.key, InfillRow.position, InfillRow.text)
            .join(StoryRow, StoryRow.id == InfillRow.story_id)
            .join(GeneratorRow, GeneratorRow.id == InfillRow.generator_id)
            .where(GeneratorRow.name == name)
        ).all()
    found = {(story, position): text for story, position, text in lines}
    assert len(found) == len(lines)
    return found


def processes(folder: Path) -> dict[int, int]:
    """The processes that wrote, and how many infills each wrote so far."""
    return {int(path.name): path.read_text(encoding="utf-8").count("\n") for path in folder.iterdir()}


@needs_ray
@pytest.mark.slow
def test_of_two_actors_one_is_killed_and_nothing_is_missing_or_double(
    start: Start, sqlite_engine: Engine, stories: tuple[Story, ...], tmp_path: Path
) -> None:
    add_stories(sqlite_engine, stories)
    cluster = start("--as", "on-ray")
    deadline = time.monotonic() + PATIENCE
    while [wrote >= 3 for wrote in processes(tmp_path / "log").values()] != [True, True]:
        assert time.monotonic() < deadline, "two actors never wrote"
        assert cluster.poll() is None, cluster.communicate()
        time.sleep(0.02)
    victim, other = processes(tmp_path / "log")
    os.kill(victim, signal.SIGKILL)
    out, err = cluster.communicate(timeout=PATIENCE)
    assert cluster.returncode == 0, err
    assert json.loads(out) == [{"generator": "on-ray", "written": {"ok": 120}, "already_there": 0}]
    wrote = processes(tmp_path / "log")
    assert len(wrote) == 3, "another actor took the place of the one that was killed"
    assert sum(wrote.values()) > 120, "the part of the one that was killed was written anew"
    assert wrote[other] > 0
    alone = start("--as", "alone", on_ray=False)
    assert alone.communicate(timeout=PATIENCE)[1] == ""
    assert stored(sqlite_engine, "on-ray") == stored(sqlite_engine, "alone")
    assert len(stored(sqlite_engine, "on-ray")) == 120
    with reading(sqlite_engine) as session:
        first, second = session.scalars(select(RunRow).order_by(RunRow.id))
        assert first.hash == second.hash
        assert (first.checkpoint, first.batch) == ("weights sha256:00", {"size": 2})


@needs_ray
@pytest.mark.long
@pytest.mark.parametrize(
    ("does", "says", "hint"),
    [
        ("fail", "Error: the weights are spoilt\n", "  Fetch them anew.\n"),
        (
            "die",
            "Error: 3 Ray actors in a row died while filling the 8 blanks from ",
            "infills of this run are stored; the same command continues from there.",
        ),
        (
            "differ",
            "Error: the Ray actors have generators 'slow' that differ in versions\n",
            "  Install the same packages",
        ),
    ],
)
def test_what_goes_wrong_on_an_actor_is_one_clear_line(
    start: Start, sqlite_engine: Engine, stories: tuple[Story, ...], does: str, says: str, hint: str
) -> None:
    add_stories(sqlite_engine, stories)
    process = start("--option", f"does={does}")
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, err
    document, _ = json.JSONDecoder().raw_decode(out)  # Ray says after it who died
    assert document["error"]["exit_code"] == 1
    assert says in err
    assert hint in err
    assert "Traceback" not in err
    assert len(stored(sqlite_engine, "slow")) < 120


@needs_ray
@pytest.mark.long
def test_the_plain_command_starts_ray_itself_and_goes_on_where_another_run_stopped(
    sqlite_engine: Engine, sqlite_database: str, stories: tuple[Story, ...]
) -> None:
    add_stories(sqlite_engine, stories)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HUMANEVAL_DATABASE": sqlite_database,
        "RAY_ADDRESS": "local",
    }
    line = [sys.executable, "-m", "humaneval", "generate", "--generator", "control"]
    subprocess.run([*line, "--shard", "1/2"], env=environment, check=True, capture_output=True)
    done = subprocess.run(
        [*line, "--ray", "--actors", "1"],
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout) == (0, "control: 60 ok, 60 existed already.\n"), done.stderr
    assert len(stored(sqlite_engine, "control")) == 120


def test_without_the_package_the_line_says_how_to_get_it(
    command: Command, study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    said = command("generate", "--generator", "control", "--ray")
    assert said == (1, "", "Error: --ray needs the package ray\n  pip install 'humaneval-toolkit[ray]'\n")


@pytest.mark.parametrize(
    "line", ["--ray --shard 1/2", "--actors 2", "--gpus-per-actor 1", "--ray --actors 0"]
)
def test_flags_that_do_not_go_together_are_refused(command: Command, study: str, line: str) -> None:
    said = command("generate", "--generator", "control", *line.split())
    assert (said.code, said.out) == (2, "")


@pytest.mark.parametrize(
    ("batch", "actors", "lengths"),
    [
        ({"size": 8}, 1, [32, 32, 32, 24]),
        ({"size": 8}, 2, [32, 32, 32, 24]),
        ({"size": 8}, 4, [32, 32, 32, 24]),
        ({"size": 8}, 100, [8] * 15),
        ({"size": 500}, 4, [120]),
        ({}, 2, [50, 50, 20]),
        ({"size": "auto"}, 7, [18] * 6 + [12]),
    ],
)
def test_parts_are_whole_batches_and_cover_the_blanks_in_order(
    stories: tuple[Story, ...], batch: dict[str, Any], actors: int, lengths: list[int]
) -> None:
    blanks = blanks_of(stories, POSITIONS)
    parts = parts_of(blanks, Provenance("any", batch=batch), actors)
    assert [len(part) for part in parts] == lengths
    assert [blank for part in parts for blank in part] == blanks
