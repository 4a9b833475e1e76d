"""Waiting times of annotators who come all at once: our form server, beside an empty Flask route in the same
run.

Each annotator opens a form of eight passages, sends it and follows to the page that hands it over. Prints a
table for SQLite and, with --postgres URL or the npm package of the tests, for PostgreSQL.
"""

from __future__ import annotations

import argparse
import asyncio
import hmac
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from flask import Flask, request
from sqlalchemy import Engine, func, insert, select

from humaneval.domain import GeneratorRequest
from humaneval.infills.blanks import blanks_of
from humaneval.infills.generate import run
from humaneval.kinds import build
from humaneval.store.engine import open_engine, reading, writing
from humaneval.store.migrate import open_current
from humaneval.store.stories import add_stories
from humaneval.store.tables import (
    AnswerRow,
    AssignmentRow,
    GeneratorRow,
    HitRow,
    InfillRow,
    OutboxRow,
    RunRow,
)
from humaneval.stories import bundled_stories
from humaneval.study.create import create_study
from humaneval.study.file import read_study_file
from humaneval.web.app import run as run_server

SYSTEMS = [f"system-{number}" for number in range(1, 7)]
PLACES = 9
ALONE = 9
SECONDS_BETWEEN = 4.0
"""Between two crowds, in which the server does what it had put off."""
STEPS = ("open", "submit", "sent")
NOWHERE = "http://127.0.0.1:1"
"""The marketplace, where nobody listens: what its exclusion list costs is no part of the pages."""


def study(engine: Engine, annotators: int) -> None:
    """A study of eight generators: control, human, and six copies of the human under other names."""
    open_current(engine)
    stories = [story for story in bundled_stories() if story.split == "test"]
    add_stories(engine, stories)
    for kind in ("control", "human"):
        for generator in build(GeneratorRequest(kind)):
            run(engine, generator, blanks_of(stories, (1, 2, 3, 4, 5)))
    _copy_human(engine)
    settings, source = read_study_file(
        None,
        overrides={"design": {"generators": ["control", "human", *SYSTEMS], "annotators": annotators}},
    )
    create_study(engine, "bench", settings, source)
    with writing(engine) as session:
        for number in range(-(-annotators // PLACES)):
            session.add(
                HitRow(
                    study_id=1,
                    endpoint="local",
                    key=f"f{number:023}",
                    assignments=PLACES,
                    secret=f"secret{number:018}",
                    external_id=f"3HIT{number}",
                    audience="",
                )
            )
        session.add(  # the study has an exclusion list
            OutboxRow(
                study_id=1,
                endpoint="local",
                operation="list",
                subject="study 1",
                token="list",
                request={},
                state="confirmed",
                answer={"id": "3LIST"},
            )
        )


def _copy_human(engine: Engine) -> None:
    with writing(engine) as session:
        human = session.scalars(select(GeneratorRow).where(GeneratorRow.name == "human")).one()
        infills = session.scalars(select(InfillRow).where(InfillRow.generator_id == human.id)).all()
        original = session.get_one(RunRow, infills[0].run_id)
        for name in SYSTEMS:
            copy = GeneratorRow(name=name, kind="replay", configuration_hash=name)
            session.add(copy)
            session.flush()
            provenance = RunRow(
                generator_id=copy.id,
                checkpoint="",
                seed=0,
                settings=original.settings,
                batch={},
                versions={},
                hash=name,
            )
            session.add(provenance)
            session.flush()
            session.execute(
                insert(InfillRow),
                [
                    {
                        "generator_id": copy.id,
                        "run_id": provenance.id,
                        "story_id": each.story_id,
                        "position": each.position,
                        "sample": each.sample,
                        "text": f"{each.text[:-1]}, {name}.",
                        "status": each.status,
                        "detail": "",
                        "extra": {},
                    }
                    for each in infills
                ],
            )


@dataclass
class Times:
    """Seconds by step, and what went wrong."""

    steps: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failures: Counter[str] = field(default_factory=Counter)


class Answer(NamedTuple):
    """What a server sent."""

    status: int
    headers: dict[str, str]
    content: bytes


async def ask(port: int, method: str, path: str, body: bytes = b"", cookie: str = "") -> Answer:
    """One request on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    try:
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
        if cookie:
            head += f"Cookie: {cookie}\r\n"
        if method == "POST":
            head += f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n"
        writer.write(head.encode() + b"\r\n" + body)
        answer = await reader.read(-1)
    finally:
        writer.close()
    top, _, content = answer.partition(b"\r\n\r\n")
    lines = top.decode("latin-1").split("\r\n")
    pairs = (line.split(": ", 1) for line in lines[1:] if ": " in line)
    headers = {name.lower(): value for name, value in pairs}
    return Answer(int(lines[0].split()[1]) if lines[0] else 0, headers, content)


def _address(number: int) -> str:
    hit = number // PLACES
    given = {"assignmentId": f"3A{number}", "workerId": f"AW{number}", "hitId": f"3HIT{hit}"}
    said = "\n".join(given.values()).encode()
    given["turkSignature"] = hmac.digest(f"secret{hit:018}".encode(), said, "sha256").hex()
    given["turkSubmitTo"] = NOWHERE
    return f"/form/f{hit:023}?{urlencode(given)}"


async def _annotate(port: int, number: int, times: Times, bare: bool) -> None:
    """Open, send, follow."""

    async def step(
        name: str, method: str, path: str, body: bytes, status: int
    ) -> tuple[dict[str, str], bytes]:
        began = time.perf_counter()
        try:
            answer = await ask(port, method, path, body)
        except OSError as error:
            answer = Answer(0, {}, str(error).encode())
        times.steps[name].append(time.perf_counter() - began)
        if answer.status != status:
            times.failures[f"{name} {answer.status}"] += 1
        return answer

    path = "/bare" if bare else _address(number)
    page = await step("open", "GET", path, b"", 200)
    token = re.search(rb'name="token" value="([^"]+)"', page.content)
    fields = {"token": token[1].decode() if token else "x" * 60, "consent": "1"}
    for place in range(1, 9):
        fields |= {f"choice-{place}": str(place % 5 + 1), f"seconds-{place}": "12.5"}
    path = path.partition("?")[0]
    stored = await step("submit", "POST", path, urlencode(fields).encode(), 204 if bare else 303)
    sent = "/bare" if bare else "/form/" + stored.headers.get("location", "").partition("form/")[2]
    await step("sent", "GET", sent, b"", 200)


async def _all(port: int, people: range, bare: bool, over: float) -> Times:
    times = Times()

    async def one(at: int, number: int) -> None:
        await asyncio.sleep(over * at / len(people))
        await _annotate(port, number, times, bare)

    await asyncio.gather(*(one(at, number) for at, number in enumerate(people)))
    return times


def _serve_bare() -> None:
    app = Flask(__name__)

    @app.route("/bare", methods=["GET", "POST"])
    def bare() -> tuple[str, int]:
        return "", 204 if request.method == "POST" else 200

    run_server(app, "127.0.0.1", 0, lambda port: print(f"http://127.0.0.1:{port}", flush=True))


@contextmanager
def served(command: list[str], folder: Path, environment: dict[str, str]) -> Iterator[int]:
    """A server in a process of its own; yields its port."""
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=(folder / "log").open("ab"),
        text=True,
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                yield int(found[1])
                return
        raise SystemExit("the server did not start")
    finally:
        process.terminate()
        process.wait()


def crowd(port: int, people: range, *, bare: bool, over: float = 0.0) -> Times:
    """What `people` who come at once, or `over` so many seconds, wait; they run in a process of their own."""
    asked = json.dumps([port, people.start, people.stop, bare, over])
    done = subprocess.run(
        [sys.executable, __file__, "--crowd", asked], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    return Times(found["steps"], Counter(found["failures"]))


def checked(engine: Engine, people: int) -> str:
    """What of the answers is stored: none lost, none doubled."""
    with reading(engine) as session:
        answers = session.scalar(select(func.count()).select_from(AnswerRow)) or 0
        rows = session.scalars(select(AssignmentRow.row_id).where(AssignmentRow.holds_row)).all()
    return f"lost {people - answers}, doubled {len(rows) - len(set(rows))}"


def percentile(seconds: list[float], share: float) -> float:
    """In milliseconds."""
    ordered = sorted(seconds)
    return 1000 * ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


def measure(url: str, folder: Path, people: int, rounds: int, over: float) -> None:
    """Print the table of one database."""
    engine = open_engine(url)
    study(engine, people * (rounds + 1))
    environment = {"HUMANEVAL_DATABASE": url, "HUMANEVAL_MARKET_URL": NOWHERE, "PYTHONWARNINGS": "ignore"}
    ratios: dict[str, list[float]] = defaultdict(list)
    with (
        served(["-m", "humaneval", "serve", "--port", "0"], folder, environment) as ours,
        served([__file__, "--bare"], folder, environment) as bare,
    ):
        crowd(bare, range(20), bare=True)
        crowd(ours, range(20), bare=False)
        alone = Times()
        for number in range(20, 20 + ALONE):
            for name, waited in crowd(ours, range(number, number + 1), bare=False).steps.items():
                alone.steps[name] += waited
        found = (f"{name} {percentile(alone.steps[name], 0.5):.1f} ms" for name in STEPS)
        print(f"one after the other, median of {ALONE}: {', '.join(found)}")
        failures: Counter[str] = Counter()
        for number in range(1, rounds + 1):
            empty = crowd(bare, range(people), bare=True, over=over)
            times = crowd(ours, range(number * people, (number + 1) * people), bare=False, over=over)
            time.sleep(SECONDS_BETWEEN)
            failures += times.failures
            for name in STEPS:
                there, here = (percentile(each.steps[name], 0.99) for each in (empty, times))
                ratios[name].append(here / there)
                middle = percentile(times.steps[name], 0.5)
                print(f"{number} {name:7} p50 {middle:7.1f}  p99 {here:7.1f}  bare p99 {there:7.1f} ms")
    found = ", ".join(f"{name} {statistics.median(ratios[name]):.1f}" for name in STEPS)
    print(f"p99 over the bare route's, median of {rounds}: {found}")
    print(f"{checked(engine, 20 + ALONE + people * rounds)}, refused {dict(failures)}")
    engine.dispose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--over", type=float, default=0.0, help="seconds over which they come")
    parser.add_argument("--postgres", help="URL of an empty PostgreSQL database")
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--crowd", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.bare:
        _serve_bare()
    elif given.crowd:
        port, start, stop, bare, over = json.loads(given.crowd)
        times = asyncio.run(_all(port, range(start, stop), bare, over))
        print(json.dumps({"steps": times.steps, "failures": times.failures}))
    else:
        with tempfile.TemporaryDirectory() as room:
            url = given.postgres or f"sqlite:///{room}/bench.db"
            measure(url, Path(room), given.people, given.rounds, given.over)


if __name__ == "__main__":
    main()
