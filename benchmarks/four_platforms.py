"""One study at the marketplace, at the stand-in for Prolific, by link, and by a panel that is told.

    python benchmarks/four_platforms.py                    # the paper's design, and the table
    python benchmarks/four_platforms.py --annotators 20    # a smaller one

The same simulated people, who do not say that they are, come one after the other, and answer the real pages
over HTTP. So a person gets the same row everywhere, and gives the same answers. The scores must then be the
same. Each platform's books are compared with ours. The script fails if scores or books differ.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from sqlalchemy import Engine, select

from humaneval.cli.main import main as run_command
from humaneval.crowd.approve import approve_work
from humaneval.crowd.collect import collect_work
from humaneval.crowd.endpoints import link, local, prolific
from humaneval.crowd.link import Invitation, Link, open_invitation, panel_address, panel_invitation
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.platform import Platform
from humaneval.crowd.prolific.account import Account
from humaneval.crowd.prolific.client import ProlificClient
from humaneval.crowd.prolific.platform import Prolific
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.published_hits import preview_urls
from humaneval.crowd.reconcile import reconcile
from humaneval.crowd.study_at import StudyAtPlatform, open_study_at
from humaneval.domain import GeneratorRequest
from humaneval.infills.blanks import blanks_of
from humaneval.infills.generate import run
from humaneval.kinds import build
from humaneval.market import MarketServer, Mode, open_market
from humaneval.market.prolific_standin import ProlificServer, Terms, open_prolific
from humaneval.settings import Settings
from humaneval.simulated.annotator import Crowd, Key, Skills
from humaneval.simulated.browser import FoundForm
from humaneval.simulated.links import follow_links
from humaneval.simulated.marketplace import work_through
from humaneval.simulated.prolific import take_part
from humaneval.store.engine import open_engine, reading
from humaneval.store.migrate import open_current
from humaneval.store.stories import add_stories
from humaneval.store.tables import AssignmentRow
from humaneval.stories import bundled_stories
from humaneval.study.create import create_study
from humaneval.study.file import read_study_file
from humaneval.study.presets import PRESETS
from humaneval.study.stored import open_study, study_key
from humaneval.web.app import create_app, running
from humaneval.web.prolific_check import Checker

STUDY = "study"
TOKEN = "T0KEN-4711"
PAPERS = tuple(PRESETS["acl2020"]["design"]["generators"])
MARKETPLACE, PROLIFIC, BY_LINK, BY_PANEL = "marketplace", "Prolific", "link", "panel with postback"
WAYS = (MARKETPLACE, PROLIFIC, BY_LINK, BY_PANEL)
SKILLS = Skills(0.0, {"control": 1.0, **{name: 0.1 * place for place, name in enumerate(PAPERS[1:-1], 1)}})


@dataclass(frozen=True, slots=True)
class Failing(Crowd):
    """A crowd in which whoever gets one of these forms marks another sentence than the Control's."""

    forms: frozenset[str] = frozenset()

    def fill_in(self, form: FoundForm, key: Key) -> dict[str, str]:
        """As the others do, but for the Control."""
        entered = Crowd.fill_in(self, form, key)
        if form.values["form"] in self.forms:
            for place, passage in enumerate(key[form.values["form"]], 1):
                if passage["generator"] == "control":
                    entered[f"choice-{place}"] = str(int(str(passage["position"])) % 5 + 1)
        return entered


@dataclass(frozen=True, slots=True)
class Ran:
    """One way, when everything is collected, approved and compared."""

    way: str
    people: int
    scored: dict[str, Any]
    """What `score --json` says."""
    differences: int
    left: object
    """Money that nothing explains; None if the way has no money."""
    credited: int | None
    """People whom the panel was told about; None if there is no panel to tell."""
    seconds: float
    """CPU of everything, servers and all."""


def template(path: Path, generators: Sequence[str], annotators: int, stories: int, postback: str) -> None:
    """A database with a study that is not up yet. A system's sentences are the human's with its name."""
    engine = open_engine(f"sqlite:///{path}")
    open_current(engine)
    some = bundled_stories()[:stories]
    add_stories(engine, some)
    blanks = blanks_of(some, (1, 2, 3, 4, 5))
    file = path.with_suffix(".csv")
    with file.open("w", encoding="utf-8", newline="") as written:
        lines = csv.writer(written)
        lines.writerow(("story", "position", "generator", "text"))
        for name in generators:
            if name not in ("control", "human"):
                lines.writerows((b.story.id, b.position, name, f"{_human(b)[:-1]}, {name}.") for b in blanks)
    for request in (
        GeneratorRequest("control"),
        GeneratorRequest("human"),
        GeneratorRequest("replay", checkpoint=str(file)),
    ):
        for generator in build(request):
            run(engine, generator, blanks)
    design = {"generators": list(generators), "annotators": annotators, "stories": stories, "top_up": "never"}
    told = {"panel": "sona", "postback_url": postback, "failed_control": "SEE-US"}
    settings, source = read_study_file(None, overrides={"design": design, "link": told})
    create_study(engine, STUDY, settings, source)
    engine.dispose()


def _human(blank: Any) -> str:
    return str(blank.story.sentences[blank.position - 1])


@contextmanager
def marketplace(engine: Engine, crowd: Crowd, folder: Path) -> Iterator[Platform]:
    """People of the self-hosted marketplace."""
    books = open_market(folder / "market.db")
    with MarketServer(books, mode=Mode.LOCAL) as server:
        platform = MTurk(local(server.url))
        with running(create_app(Settings(market_url=server.url), engine)) as port:
            up(engine, platform, port)
            (url,) = preview_urls(open_study(engine, STUDY), platform.endpoint)
            work_through(crowd, url, key_of(engine), at_once=1)
        yield platform
    books.dispose()


@contextmanager
def at_prolific(engine: Engine, crowd: Crowd, folder: Path) -> Iterator[Platform]:
    """People of the stand-in for Prolific."""
    books = open_prolific(folder / "prolific.db")
    with ProlificServer(books, terms=Terms(delay=timedelta(), currency="USD")) as server:
        project = next(Account(ProlificClient(server.url, server.token), "")._projects())["id"]
        platform = Prolific(prolific(server.url), engine, token=server.token, project=project)

        def open_at(endpoint: str, study: str) -> StudyAtPlatform:
            return open_study_at(engine, study, platform)

        app = create_app(Settings(prolific_url=server.url), engine, checker=Checker(open_at))
        with running(app) as port:
            up(engine, platform, port)
            (url,) = preview_urls(open_study(engine, STUDY), platform.endpoint)
            take_part(crowd, server.url, url.rpartition("/")[2], key_of(engine), at_once=1)
        yield platform
    books.dispose()


@contextmanager
def linked(invitation: Invitation, engine: Engine, crowd: Crowd, folder: Path) -> Iterator[Platform]:
    """Visitors of one open link, or people of a panel whose server is told, as SONA's is."""
    settings = open_study(engine, STUDY).settings
    with running(create_app(Settings(panel_secret=TOKEN), engine)) as port:
        platform = Link(link(f"http://localhost:{port}"), engine, panel_secret=TOKEN)
        up(engine, platform, port, invitation)
        (url,) = preview_urls(open_study(engine, STUDY), platform.endpoint)
        address = panel_address(settings, url, worker="1{number}", session="{number}")
        follow_links(crowd, [address], key_of(engine), at_once=1)
    yield platform


RUNS = {
    MARKETPLACE: marketplace,
    PROLIFIC: at_prolific,
    BY_LINK: partial(linked, open_invitation()),
    BY_PANEL: partial(linked, panel_invitation()),
}


@contextmanager
def panel(credited: set[str]) -> Iterator[str]:
    """A panel's server that credits everybody whom it is told about; they are in `credited`."""

    class Credits(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            granted = query.get("credit_token") == [TOKEN]
            if granted:
                credited.add(query["survey_code"][0])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<a><credit_status>%s</credit_status></a>" % (b"G" if granted else b"0"))

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Credits)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/WebstudyCredit?credit_token={{secret}}&survey_code=XXXX"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def up(engine: Engine, platform: Platform, port: int, *invitations: Invitation) -> None:
    """Publish the study."""
    plan_hits(open_study_at(engine, STUDY, platform), invitations=invitations)
    publish_hits(open_study_at(engine, STUDY, platform), public_url=f"http://localhost:{port}")


def key_of(engine: Engine) -> Key:
    """Which sentence of which form is a machine's."""
    return study_key(open_study(engine, STUDY))


def ran(way: str, engine: Engine, crowd: Crowd, folder: Path, credited: set[str]) -> Ran:
    """Let the crowd go one way, and pay, and compare."""
    began = time.process_time()
    with RUNS[way](engine, crowd, folder) as platform:
        collect_work(open_study_at(engine, STUDY, platform))
        approve_work(open_study_at(engine, STUDY, platform))
        books = reconcile(open_study_at(engine, STUDY, platform))
    with reading(engine) as session:
        states = list(session.scalars(select(AssignmentRow.state)))
    assert set(states) == {"approved"}, states
    told = len(credited) if way == BY_PANEL else None
    seconds = time.process_time() - began
    return Ran(way, len(states), scored(engine), len(books.differences), books.left, told, seconds)


def scored(engine: Engine) -> dict[str, Any]:
    """What the command says, to nine decimals: sums over people in another order differ in the last digit."""
    printed, database = StringIO(), engine.url.render_as_string(hide_password=False)
    with redirect_stdout(printed), suppress(SystemExit):
        run_command(["--database", database, "score", STUDY, "--json"])
    told: dict[str, Any] = rounded(json.loads(printed.getvalue()))
    return told


def rounded(told: Any) -> Any:
    """Every figure in it to nine decimals."""
    if isinstance(told, dict):
        return {name: rounded(each) for name, each in told.items()}
    if isinstance(told, list):
        return list(map(rounded, told))
    return round(told, 9) if isinstance(told, float) else told


def compared(generators: Sequence[str], annotators: int, failing: int, stories: int) -> list[Ran]:
    """The same people by each way. `failing` of them mark the wrong sentence where the Control is."""
    credited: set[str] = set()
    with tempfile.TemporaryDirectory() as name, panel(credited) as postback:
        folder = Path(name)
        template(folder / "template.db", generators, annotators, stories, postback)
        found = []
        for number, way in enumerate(WAYS):
            room = folder / str(number)
            room.mkdir()
            engine = open_engine(f"sqlite:///{shutil.copy(folder / 'template.db', room / 'study.db')}")
            forms = list(key_of(engine))
            wrong = frozenset(forms[:: len(forms) // failing][:failing]) if failing else frozenset()
            crowd = Failing(annotators, SKILLS, forms=wrong)
            found.append(ran(way, engine, crowd, room, credited))
            engine.dispose()
    return found


def table(found: Sequence[Ran]) -> str:
    """One line for each way."""
    names = (
        "way",
        "people",
        "left out",
        "judgments",
        "scores",
        "differences",
        "unexplained",
        "credited",
        "CPU s",
    )
    lines = [f"| {' | '.join(names)} |"]
    lines.append("| --- |" + " ---: |" * 8)
    for each in found:
        same = "the same" if each.scored == found[0].scored else "**others**"
        out, answers = each.scored["annotators"]["excluded"], sum(one["n"] for one in each.scored["scores"])
        shown = ["–" if value is None else str(value) for value in (each.left, each.credited)]
        lines.append(
            f"| {each.way} | {each.people} | {out} | {answers} | {same} |"
            f" {each.differences} | {' | '.join(shown)} | {each.seconds:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run all four, print the table, and fail on a difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--annotators", type=int, default=100)
    parser.add_argument("--failing", type=int, default=5, help="People who fail the Control.")
    parser.add_argument("--stories", type=int, default=100)
    given = parser.parse_args()
    found = compared(PAPERS, given.annotators, given.failing, given.stories)
    print(table(found))
    alike = all(each.scored == found[0].scored for each in found)
    if not alike or any(each.differences or each.left for each in found):
        raise SystemExit("the ways differ")


if __name__ == "__main__":
    main()
