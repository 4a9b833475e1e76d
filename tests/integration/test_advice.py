"""Advice works: whoever does what every message says gets from an empty folder to a closed study.

The verbs are called in all states of a study. Every command that they print is run as it is printed, with its
words to be replaced, such as FILE, replaced. One shell says at the end that it reads all of them as we do.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from humaneval.cli.main import main
from humaneval.crowd.endpoints import local
from humaneval.crowd.mturk.platform import MTurk
from humaneval.stories import bundled_stories
from tests.advice import modules, printed_commands, sites
from tests.commands import Said
from tests.conftest import ROOT
from tests.docs.pages import await_port
from tests.forking.program import Program
from tests.ports import free_port

DATABASE, STUDY = "my data.db", "my study"
LOOKS = {"list", "show", "status", "review", "score", "doctor", "worker", "config", "--help"}
"""Verbs that only show something. They must succeed, and need not move anything on."""
UP = "a program that serves until it is stopped: tests/integration/test_up.py"
NOT_WALKED = {
    "humaneval/study/unusable_infills.py: generate --generator KIND --as NAME": "names of the person's own",
    "humaneval/store/erase.py: db clean": "a database of 100 MB: tests/unit/test_erasing.py",
    "humaneval/study/scores.py: score x --all": "tests/integration/crowd/test_advice_in_states.py",
    "humaneval/study/stored.py: publish x --to prolific": (
        "a study in pounds: tests/integration/prolific/test_verbs.py"
    ),
    "humaneval/cli/market/invite.py: market invite --database x": (
        "test_an_invitation_that_is_revoked_lets_nobody_in_and_the_next_one_does"
    ),
    "humaneval/market/panel/invitations.py: market invite --revoke --database x": (
        "somebody who registered: tests/integration/market/test_panel.py"
    ),
    "humaneval/study/stored.py: extend x --to local --days 7": (
        "tests/integration/crowd/test_advice_in_states.py"
    ),
    "humaneval/study/scores.py: review x": "tests/integration/test_python.py runs the way out",
    "generators/causal/writer.py: train x --out FOLDER": "trains a model",
    "generators/checkpoints/card.py: train KIND --out FOLDER": "trains a model",
    "generators/endpoint/generator.py: train ilm --out FOLDER": "needs a server of a model",
    "generators/self_attention/generator.py: train sa --out FOLDER": "trains a model",
    "generators/training/options.py: train x --help": "loads torch",
    "humaneval/cli/db.py: db upgrade": "an older database: tests/integration/test_migrations.py",
    "humaneval/cli/demo.py: status x": "a whole demo: .ci/run",
    "humaneval/cli/doctor.py: doctor": "a database that cannot be used",
    "humaneval/cli/doctor.py: doctor x --to local": "a person corrects something that no command does",
    "humaneval/cli/simulate.py: prolific serve": "tests/integration/prolific/test_verbs.py",
    "humaneval/cli/study/create.py: status x": "a study in use: tests/integration/test_from_table.py",
    "humaneval/cli/stories.py: stories show ID": "a story file whose sentences are doubtful",
    "humaneval/cli/study/from_table.py: study create x --from x --yes": (
        "no terminal: tests/integration/test_from_table.py"
    ),
    "humaneval/cli/up.py: expire x --to local": UP,
    "humaneval/cli/up.py: report x --out report.html": UP,
    "humaneval/cli/up.py: review x --approve": UP,
    "humaneval/cli/up.py: review x --paid": UP,
    "humaneval/cli/infill.py: infill Anna left. ____ She slept.": "a terminal that waits for a text",
    "humaneval/crowd/advice.py: approve x ID --to local": "strays: tests/integration/crowd/test_strays.py",
    "humaneval/crowd/advice.py: publish x --to link --places NUMBER": "answers that come late, by link",
    "humaneval/cli/publish_links.py: publish x --to local --places NUMBER": (
        "an interrupted run: tests/integration/link/test_personal_links.py"
    ),
    "humaneval/infills/free_text.py: train ilm --bundled --from-scratch --preset small --out ilm": (
        "trains a model"
    ),
    "humaneval/interface/tables.py: responses import x --out responses.csv": (
        "other people's files, which vary"
    ),
    "humaneval/web/requester/pages.py: status x": "on a page: tests/integration/test_requester_figures.py",
    "humaneval/web/requester/pages.py: status x --reconcile": (
        "on a page: tests/integration/test_requester_figures.py"
    ),
    "humaneval/crowd/approve.py: reject x x --to local --reason REASON": (
        "work that was lost, paid by hand and found again: tests/integration/crowd/test_paid_elsewhere.py"
    ),
    "humaneval/crowd/published_hits.py: publish x --to prolific --dry-run": (
        "at Prolific: tests/integration/prolific/test_money.py"
    ),
    "humaneval/crowd/compensation_hit.py: status x --reconcile": (
        "paid twice by two programs: tests/integration/crowd/test_paid_elsewhere.py"
    ),
    "humaneval/crowd/publish.py: expire x --to local": (
        "two programs at once: tests/integration/crowd/test_lifetime.py"
    ),
    "humaneval/crowd/compensation_hit.py: notify x WORKER --to local --subject SUBJECT --text TEXT": (
        "two reasons for one compensation: tests/integration/crowd/test_making_good.py"
    ),
    "humaneval/crowd/participants.py: worker exclude x WORKER": "a study of an earlier version",
    "humaneval/running/addresses.py: expire x --to local": UP,
    "humaneval/running/addresses.py: up x --market-port NUMBER": UP,
    "humaneval/running/addresses.py: up x --port NUMBER": UP,
    "humaneval/running/demo.py: demo --quick": "a whole demo: .ci/run",
    "humaneval/running/up.py: extend x --days 7": UP,
    "humaneval/store/engine.py: config show": "a database that cannot be used: it names another one",
    "humaneval/store/migrate.py: db upgrade": "an older database: tests/integration/test_migrations.py",
    "humaneval/store/migrate.py: market upgrade --database x": (
        "an older marketplace: tests/integration/test_upgrades.py"
    ),
    "humaneval/study/create.py: worker exclude x WORKER": "tests/integration/crowd/test_participation.py",
    "humaneval/study/from_table_stored.py: generators forget x": (
        "two tables with one system: tests/integration/test_from_table.py"
    ),
    "humaneval/study/words.py: generate --generator control --as NAME --option wordings=TEXT": (
        "a person writes the words: tests/unit/test_page_words.py"
    ),
    "humaneval/cli/approve.py: reject x x --to local --reason TEXT": (
        "a reason made at Prolific: tests/integration/prolific"
    ),
    "humaneval/cli/collect.py: collect x --to local --again": (
        "a lost reply of a panel: tests/integration/link/test_panel_postbacks.py"
    ),
    "humaneval/cli/panel_list.py: worker export WORKER": (
        "a panel's own list: tests/integration/link/test_panel_list.py"
    ),
    "humaneval/cli/publish_files.py: collect x --to csv --from RESULTS.csv": (
        "results of another site: tests/integration/crowd/test_batch_files.py"
    ),
    "humaneval/cli/worker/personal_data.py: worker show WORKER": (
        "tests/integration/link/test_what_is_kept.py"
    ),
    "humaneval/crowd/open_money.py: approve x x": ("open money: tests/integration/test_open_money.py"),
    "humaneval/crowd/open_money.py: collect x": ("open money: tests/integration/test_open_money.py"),
    "humaneval/crowd/open_money.py: compensate x x --amount SUM --reason REASON": (
        "open money: tests/integration/test_open_money.py"
    ),
    "humaneval/crowd/open_money.py: reject x x --to local --reason REASON": (
        "open money: tests/integration/test_open_money.py"
    ),
    "humaneval/crowd/open_money.py: collect x --to local --again": (
        "a credit that a panel has not confirmed: tests/integration/link/test_panel_postbacks.py"
    ),
    "humaneval/crowd/panel_list.py: publish x --to link --panel": (
        "a panel's own list: tests/integration/link/test_panel_list.py"
    ),
    "humaneval/crowd/prolific/evidence.py: ask-return x x --reason REASON": (
        "at Prolific: tests/integration/prolific"
    ),
    "humaneval/report/datasheet_arr.py: study preview x": ("a text for a checklist"),
    "humaneval/simulated/prolific.py: prolific serve": (
        "a stand-in that is not there: tests/integration/prolific"
    ),
}
"""Advice that this walk does not meet, as `file: words`, and why. A new one wants a state, or a line here.
That a program takes each of them is what `tests/docs/test_advice_in_source.py` tests."""
WAITS = "0 of them new"
"""What `collect` says if nobody has worked since. Then it, too, only shows something."""


class Walk:
    """A person in a folder, who does what messages say."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.market, self.forms = free_port(), free_port()
        self.servers: dict[str, Program] = {}
        self.advised: set[str] = set()
        self.assignment = ""
        self.worker = ""

    def run(self, line: str) -> Said:
        """Run a command line in this process, from the folder. The advice that it prints is kept."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
            main(shlex.split(line)[1:])
        self.advised.update(self.found(out.getvalue() + err.getvalue()))
        return Said(int(ended.value.code or 0), out.getvalue(), err.getvalue())

    def found(self, text: str) -> list[str]:
        return list(dict.fromkeys(printed_commands(text)))

    def start(self, line: str) -> None:
        """Start a server that is advised, once."""
        if line in self.servers:
            return
        self.servers[line] = Program(*shlex.split(line)[1:])
        await_port(self.market if "market" in shlex.split(line) else self.forms)

    def lose_the_marketplace(self) -> None:
        """Put a new marketplace in the place of the old one, whose work is lost."""
        (line,) = (line for line in self.servers if "market" in shlex.split(line))
        server = self.servers.pop(line)
        server.terminate()
        server.wait()
        for file in self.folder.glob("market.db*"):
            file.unlink()
        self.start(line)

    def stop(self) -> None:
        for server in self.servers.values():
            server.terminate()
        for server in self.servers.values():
            server.wait()

    def filled(self, line: str) -> str:
        """The command with its words to be replaced."""
        name = re.search(r"--as (\S+)", line)
        wanted = name[1] if name else ""
        kind = (
            wanted
            if wanted in ("control", "human")
            else f"replay --checkpoint infills.csv --option generator={wanted}"
        )
        table = "responses.csv" if "score" in line else "'my stories.csv'"
        file = "key.txt" if "market key" in line else table
        values = {
            "KIND": kind,
            "FILE": file,
            "NAME": f"'{STUDY}'",
            "STUDY": f"'{STUDY}'",
            "ID": "he-145" if "stories show" in line else self.assignment,
            "ASSIGNMENT": self.assignment,
            "WORKER": self.worker,
            "SUM": "9000.00" if " fund " in line else "0.80",
            "REASON": "'the page was broken'",
            "NUMBER": "5",
        }
        return re.sub(r"\b(?:" + "|".join(values) + r")\b", lambda found: values[found[0]], line)

    def follow(self, line: str, depth: int = 0) -> bool:
        """Do what a message advises. Returns whether it moved anything on."""
        line = self.filled(line)
        words = shlex.split(line)
        assert words[1:3] == ["--database", DATABASE], f"another database: {line}"
        if words[3:5] == ["study", "delete"] or "--from" in words:
            return False  # the other of two ways: tests/integration/test_from_table.py goes it
        if words[-1] == "serve":
            self.start(line)
            return False
        if words[3] == "up":  # it serves until it is stopped; what it does first is done without it
            return self.follow(self.line(f"publish {shlex.quote(words[4])} --to local"), depth)
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
def walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Walk]:
    folder = tmp_path / "my folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in [name for name in os.environ if name.startswith("HUMANEVAL_")]:
        monkeypatch.delenv(name)
    with (folder / "my stories.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["storyid", "storytitle", *(f"sentence{n}" for n in range(1, 6))])
        writer.writerows([s.id, s.title, *s.sentences] for s in bundled_stories() if s.split == "test")
    shutil.copy(ROOT / "humaneval/bundled/example_infills.csv", folder / "infills.csv")
    walk = Walk(folder)
    for name, value in {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HUMANEVAL_PORT": str(walk.forms),
        "HUMANEVAL_PUBLIC_URL": f"http://127.0.0.1:{walk.forms}",
        "HUMANEVAL_MARKET_URL": f"http://127.0.0.1:{walk.market}",
    }.items():
        monkeypatch.setenv(name, value)
    try:
        yield walk
    finally:
        walk.stop()


def test_X21_X54_what_every_message_advises_works_as_it_is_printed(walk: Walk) -> None:
    _from_nothing_to_a_closed_study(walk)
    _by_link(walk)
    _what_is_refused(walk)
    _at_a_marketplace_that_lost_everything(walk)
    unseen = {
        f"{site.where.rpartition(':')[0]}: {' '.join(site.words)}"
        for path, tree in modules(with_commands=True)
        for site in sites(path, tree)
        if not any(site.fits(line, DATABASE) for line in walk.advised)
    }
    assert unseen - set(NOT_WALKED) == set(), "advised, and neither walked nor listed"
    assert set(NOT_WALKED) - unseen == set(), "walked now"

    assert words_in_a_shell(walk.advised) == {line: shlex.split(line) for line in walk.advised}


def words_in_a_shell(lines: set[str]) -> dict[str, list[str]]:
    """The words of each line, as bash reads them."""
    script = "\n".join(f"printf '%s\\0' {line}; echo" for line in lines)
    said = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
    return {line: words.split("\0")[:-1] for line, words in zip(lines, said.splitlines(), strict=True)}


def _from_nothing_to_a_closed_study(walk: Walk) -> None:
    walk.run(walk.line("study create early --generators control,human"))  # what it advises is done below
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


def _what_is_refused(walk: Walk) -> None:
    """Refusals that do not depend on how far a study is."""
    walk.state("export --out nothing.csv", once=True)
    walk.state("stories import responses.csv", once=True)
    walk.state("study create many --generators control,control", once=True)
    walk.state("worker exclude 'my study' w000000000000 --to local", once=True)
    walk.state("market serve --host 0.0.0.0 --port 0 --public-url https://m.example.org", once=True)
    walk.state("market serve --port 0 --balance 5.00", once=True)
    walk.state("simulate 'by link' --to link --annotators 1 --key infills.csv", once=True)
    (walk.folder / "other.json").write_text(walk.do("study show 'my study' --key").out, encoding="utf-8")
    walk.state("simulate 'by link' --to link --annotators 1 --key other.json", once=True)
    whole = json.loads(walk.do("study show 'by link' --key").out)
    (walk.folder / "part.json").write_text(json.dumps(dict([whole.popitem()])), encoding="utf-8")
    walk.state("simulate 'by link' --to link --annotators 3 --key part.json", once=True)
    (walk.folder / "dear.toml").write_text("[hit]\nreward = 3000.00\n", encoding="utf-8")
    walk.do("study create dear --annotators 4 --generators control,human --file dear.toml")
    walk.state("publish dear", once=True)
    (walk.folder / "apart.toml").write_text(
        "[participants]\nexclude_studies = ['nobody']\n", encoding="utf-8"
    )
    assert walk.run(walk.line("study create apart --annotators 4 --file apart.toml")).code == 2
    walk.do("study create news --annotators 4")
    walk.do("publish news")
    walk.do("simulate news --annotators 2 --skill control=1")
    walk.state("notify news --subject News --text 'It goes on.'", once=True)
    walk.do("collect news")
    walk.note_work("news", "local")
    MTurk(local(os.environ["HUMANEVAL_MARKET_URL"])).client.approve_assignment(AssignmentId=walk.assignment)
    walk.state(f"reject news {walk.assignment} --reason x", once=True)


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
    walk.do("collect lost")
    walk.note_work("lost", "local")
    walk.do("simulate lost --annotators 1 --skill control=1")
    walk.lose_the_marketplace()
    walk.state("status lost")
    walk.state("collect lost")
    walk.state(f"approve lost {walk.assignment}", once=True)
    settled = walk.run(walk.line(f"bonus lost {walk.assignment} --amount 0.10 --reason x"))
    assert "Its worker was paid $0.80 elsewhere" in settled.err
    walk.state("review lost")
    walk.state("status lost --reconcile")
    walk.state("publish lost", once=True)
    walk.state("close lost")
    walk.state("status lost")
