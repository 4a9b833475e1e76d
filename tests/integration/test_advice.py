"""Advice works: whoever does what every message says gets from an empty folder to a closed study.

The verbs are called in all states of a study, as programs of their own. Every command that they print is run
in a shell as it is printed, with its words to be replaced, such as FILE, replaced.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from humaneval.stories import bundled_stories
from tests.advice import modules, printed_commands, sites
from tests.commands import Said
from tests.conftest import ROOT
from tests.docs.pages import await_port, free_port

DATABASE, STUDY = "my data.db", "my study"
LOOKS = {"list", "show", "status", "review", "score", "doctor", "worker", "config", "--help"}
"""Verbs that only show something. They must succeed, and need not move anything on."""
NOT_WALKED = (
    "generators/causal/writer.py: train x --out FOLDER",
    "generators/checkpoints/card.py: train KIND --out FOLDER",
    "generators/self_attention/generator.py: train sa --out FOLDER",
    "generators/training/options.py: train x --help",
    "humaneval/cli/db.py: db upgrade",
    "humaneval/cli/demo.py: status x",
    "humaneval/cli/doctor.py: study preview STUDY --out FILE.png",
    "humaneval/cli/export.py: export STUDY --out responses.csv",
    "humaneval/cli/notify.py: worker list x",
    "humaneval/cli/review.py: approve x ID --to local",
    "humaneval/cli/score.py: responses import x --out responses.csv",
    "humaneval/cli/simulate.py: study show STUDY --key",
    "humaneval/cli/simulate.py: study show x --key",
    "humaneval/cli/status.py: publish x --to link --places NUMBER",
    "humaneval/cli/stories.py: stories show ID",
    "humaneval/cli/study/create.py: study plan x",
    "humaneval/crowd/compensate.py: notify x WORKER --to local --subject SUBJECT --text TEXT",
    "humaneval/crowd/mturk/platform.py: collect STUDY",
    "humaneval/crowd/participants.py: worker exclude x WORKER",
    "humaneval/crowd/platform.py: market fund SUM",
    "humaneval/crowd/workers.py: worker list STUDY",
    "humaneval/market/keys.py: market key --out FILE",
    "humaneval/market/serving.py: market key --out FILE",
    "humaneval/market/tables/database.py: market fund SUM",
    "humaneval/running/demo.py: demo --quick",
    "humaneval/settings.py: init",
    "humaneval/simulated/annotator.py: study show STUDY --key",
    "humaneval/store/engine.py: config show",
    "humaneval/store/migrate.py: db upgrade",
    "humaneval/store/migrate.py: market upgrade --database x",
    "humaneval/store/stories.py: stories import --bundled",
    "humaneval/stories/delimited.py: score --responses FILE",
    "humaneval/study/file.py: init",
    "humaneval/study/file_errors.py: init",
    "humaneval/study/file_errors.py: study create --help",
    "humaneval/study/usable_infills.py: generate --generator KIND --as NAME",
)
"""Advice that this walk does not meet, as `file: words`. A new one wants a state here, or a line here. That a
program takes each of them is what `tests/docs/test_advice_in_source.py` tests."""
WAITS = "0 of them new"
"""What `collect` says if nobody has worked since. Then it, too, only shows something."""


class Walk:
    """A person in a folder, who does what messages say."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.market, self.forms = free_port(), free_port()
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("HUMANEVAL_")},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "HUMANEVAL_PORT": str(self.forms),
            "HUMANEVAL_PUBLIC_URL": f"http://127.0.0.1:{self.forms}",
            "HUMANEVAL_MARKET_URL": f"http://127.0.0.1:{self.market}",
        }
        self.servers: dict[str, subprocess.Popen[bytes]] = {}
        self.advised: set[str] = set()
        self.assignment = ""
        self.worker = ""

    def run(self, line: str) -> Said:
        """Run a command line in a shell, in the folder. The advice that it prints is kept."""
        done = subprocess.run(
            ["bash", "-c", line], cwd=self.folder, env=self.environment, capture_output=True, text=True
        )
        self.advised.update(self.found(done.stdout + done.stderr))
        return Said(done.returncode, done.stdout, done.stderr)

    def found(self, text: str) -> list[str]:
        return list(dict.fromkeys(printed_commands(text)))

    def start(self, line: str) -> None:
        """Start a server that is advised, once."""
        if line in self.servers:
            return
        self.servers[line] = subprocess.Popen(
            ["bash", "-c", f"exec {line}"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        await_port(self.market if "market" in shlex.split(line) else self.forms)

    def lose_the_marketplace(self) -> None:
        """Put a new marketplace in the place of the old one, whose work is lost."""
        (line,) = (line for line in self.servers if "market" in shlex.split(line))
        server = self.servers.pop(line)
        server.terminate()
        server.wait(timeout=20)
        for file in self.folder.glob("market.db*"):
            file.unlink()
        self.start(line)

    def stop(self) -> None:
        for server in self.servers.values():
            server.terminate()
        for server in self.servers.values():
            server.wait(timeout=20)

    def filled(self, line: str) -> str:
        """The command with its words to be replaced."""
        name = re.search(r"--as (\S+)", line)
        wanted = name[1] if name else ""
        kind = (
            wanted
            if wanted in ("control", "human")
            else f"replay --checkpoint infills.csv --option generator={wanted}"
        )
        values = {
            "KIND": kind,
            "FILE": "'my stories.csv'",
            "NAME": f"'{STUDY}'",
            "STUDY": f"'{STUDY}'",
            "ID": "he-145" if "stories show" in line else self.assignment,
            "ASSIGNMENT": self.assignment,
            "WORKER": self.worker,
            "SUM": "0.80",
            "REASON": "'the page was broken'",
            "NUMBER": "5",
        }
        return re.sub(r"\b(?:" + "|".join(values) + r")\b", lambda found: values[found[0]], line)

    def follow(self, line: str, depth: int = 0) -> bool:
        """Do what a message advises. Returns whether it moved anything on."""
        line = self.filled(line)
        words = shlex.split(line)
        assert words[1:3] == ["--database", DATABASE], f"another database: {line}"
        if words[-1] == "serve":
            self.start(line)
            return False
        said = self.succeed(line, depth)
        return not (LOOKS & set(words) and "--approve" not in words) and WAITS not in said.out

    def succeed(self, line: str, depth: int = 0) -> Said:
        """Run a command; if it is refused, do what it advises, and run it again until it is not."""
        told: set[str] = set()
        while True:
            said = self.run(line)
            if not said.code:
                return said
            advice = self.found(said.err)
            assert said.code != 2 or advice, f"{line}\n{said.err}"
            assert said.err not in told, f"the advice changed nothing:\n{line}\n{said.err}"
            assert advice, f"refused, and nothing is advised:\n{line}\n{said.err}"
            assert depth < 5, f"one advice leads to another: {line}\n{said.err}"
            told.add(said.err)
            for command in advice:
                self.follow(command, depth + 1)

    def state(self, verb: str, *, once: bool = False) -> Said:
        """Call a verb and do all that it advises; then the same verb must not advise it again, unless nobody
        would call it twice."""
        line = self.line(verb)
        said = self.run(line)
        advice = self.found(said.out + said.err)
        assert not said.code or advice, f"refused, and nothing is advised:\n{line}\n{said.err}"
        moved = [command for command in advice if self.follow(command)]
        if moved and not once:
            again = self.run(line)
            repeated = set(moved) & set(self.found(again.out + again.err))
            assert not repeated, f"said again after it was done:\n{line}\n{again.out}{again.err}"
        return said

    def line(self, verb: str) -> str:
        return f"humaneval --database '{DATABASE}' {verb}"

    def do(self, verb: str) -> Said:
        """Call a verb that must succeed, and that nobody advised."""
        said = self.run(self.line(verb))
        assert said.code == 0, said.out + said.err
        return said

    def note_work(self, study: str, endpoint: str) -> None:
        """Remember a piece of work, which messages name in general only."""
        work = json.loads(self.do(f"review {study} --to {endpoint} --json").out)["assignments"][-1]
        self.assignment, self.worker = work["assignment"], work["worker"]


@pytest.fixture
def walk(tmp_path: Path) -> Iterator[Walk]:
    folder = tmp_path / "my folder"
    folder.mkdir()
    with (folder / "my stories.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["storyid", "storytitle", *(f"sentence{n}" for n in range(1, 6))])
        writer.writerows([s.id, s.title, *s.sentences] for s in bundled_stories() if s.split == "test")
    shutil.copy(ROOT / "humaneval/bundled/example_infills.csv", folder / "infills.csv")
    walk = Walk(folder)
    try:
        yield walk
    finally:
        walk.stop()


def test_X21_X54_what_every_message_advises_works_as_it_is_printed(walk: Walk) -> None:
    _from_nothing_to_a_closed_study(walk)
    _by_link(walk)
    _at_a_marketplace_that_lost_everything(walk)
    unseen = {
        f"{site.where.rpartition(':')[0]}: {' '.join(site.words)}"
        for path, tree in modules()
        for site in sites(path, tree)
        if not any(site.fits(line, DATABASE) for line in walk.advised)
    }
    assert sorted(unseen) == sorted(NOT_WALKED)


def _from_nothing_to_a_closed_study(walk: Walk) -> None:
    walk.state("init", once=True)
    walk.state("study show")
    walk.state("stories show nobody")
    walk.state("score 'my study'")
    walk.state("status 'my study'")
    walk.state("doctor")
    walk.state("score 'my study'")
    walk.state("publish 'my study'", once=True)
    walk.do("simulate 'my study' --annotators 4 --skill control=1")
    walk.state("status 'my study'")
    walk.note_work("'my study'", "local")
    walk.state("approve 'my study' nothing")
    walk.state("close 'my study'")
    walk.state(f"reject 'my study' {walk.assignment} --reason 'a trial'", once=True)
    walk.state("review 'my study'")
    walk.state("close 'my study'")
    walk.state(f"compensate 'my study' {walk.assignment} --amount 0.80 --reason x", once=True)
    walk.state("status 'my study'")
    walk.state("score 'my study'")


def _by_link(walk: Walk) -> None:
    walk.do("study create 'by link' --annotators 4")
    walk.do("publish 'by link' --to link")
    walk.do("simulate 'by link' --annotators 2 --skill control=1")
    walk.state("status 'by link'")
    walk.state("score 'by link'")
    walk.state("close 'by link'")
    walk.state("study enlarge 'by link' --annotators 4 --reason 'too few' --yes", once=True)
    walk.state("review 'by link'")
    walk.state("status 'by link'")


def _at_a_marketplace_that_lost_everything(walk: Walk) -> None:
    walk.do("study create lost --annotators 4")
    walk.do("publish lost")
    walk.do("simulate lost --annotators 3 --skill control=1")
    walk.lose_the_marketplace()
    walk.state("status lost")
    walk.state("review lost")
    walk.state("status lost")
