"""Several programs of each kind at one PostgreSQL at once, and whether the books are exact afterwards.

    python benchmarks/together.py [--rows 180] [--postgres URL]

Two publishers; two form servers, which get the connections by turns; two crowds of simulated annotators, and
four collectors all the while; then two reviewers who approve everything. Every program is the command line in
a process of its own. Ends with an error if a HIT, a form, an answer or a cent was lost or doubled.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from decimal import Decimal
from itertools import cycle
from pathlib import Path
from typing import Any

import boto3
from sqlalchemy import create_engine, func, select, text

from humaneval.store.engine import open_engine, reading
from humaneval.store.tables import (
    AnswerRow,
    AssignmentRow,
    HitRow,
    OutboxRow,
    PaymentRow,
    ResponseRow,
    RowRow,
)
from tests.postgres import serving

PLACES, PASSAGES, COLLECTORS, STUDY = 9, 3, 4, "together"
SYSTEM = "other"


class Programs:
    """Runs the command line with one database and one marketplace."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.environment = folder, os.environ | {"HUMANEVAL_DATABASE": url}

    def start(self, *words: str, **more: str) -> subprocess.Popen[str]:
        """Start a verb."""
        return subprocess.Popen(
            [sys.executable, "-m", "humaneval", *words],
            cwd=self.folder,
            env=self.environment | more,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words: str, **more: str) -> str:
        """Run a verb to its end."""
        return finished(self.start(*words, **more))

    @contextmanager
    def served(self, *words: str, **more: str) -> Iterator[str]:
        """A server; yields its address."""
        process = self.start(*words, "--port", "0", **more)
        try:
            assert process.stdout is not None
            said = ""
            for line in process.stdout:
                said += line
                if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                    yield found[0]
                    return
            raise SystemExit(said)
        finally:
            process.terminate()
            process.communicate(timeout=30)


def finished(process: subprocess.Popen[str]) -> str:
    """What a verb printed. Ends the benchmark if it failed."""
    said, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{' '.join(process.args)}: exit {process.returncode}\n{said}")
    return said


@contextmanager
def by_turns(addresses: list[str]) -> Iterator[str]:
    """One address for several servers: each new connection goes to the next of them."""
    turns = cycle(int(address.rpartition(":")[2]) for address in addresses)
    loop = asyncio.new_event_loop()

    async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while part := await source.read(65_536):
                sink.write(part)
                await sink.drain()
        sink.close()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", next(turns))
        await asyncio.gather(copy(reader, back), copy(there, writer))

    server = loop.run_until_complete(asyncio.start_server(connect, "127.0.0.1", 0))
    threading.Thread(target=loop.run_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    loop.call_soon_threadsafe(loop.stop)


def write_files(folder: Path, rows: int) -> None:
    """A study file, and the infills of a system for the bundled stories."""
    (folder / "study.toml").write_text(
        f'[design]\ngenerators = ["control", "human", "{SYSTEM}"]\ncontrol = "control"\nhuman = "human"\n'
        f"annotators = {rows}\n[hit]\nreward = 0.50\n"
    )


def books(url: str, rows: int, client: Any, before: Decimal) -> dict[str, object]:
    """What is in the database and at the marketplace; `wrong` names what is not as it must be."""
    engine = open_engine(url)
    with reading(engine) as session:
        held = Counter(session.scalars(select(AssignmentRow.row_id).where(AssignmentRow.holds_row)))
        states = Counter(session.scalars(select(AssignmentRow.state)))
        paid = session.scalars(select(PaymentRow)).all()
        twice = Counter(session.execute(select(ResponseRow.assignment_id, ResponseRow.passage_id)).all())
        found: dict[str, object] = {
            "hits planned": session.scalar(select(func.count(HitRow.id))),
            "rows held once": sum(number == 1 for number in held.values()),
            "rows": session.scalar(select(func.count(RowRow.id))),
            "answers": session.scalar(select(func.count(AnswerRow.assignment_id.distinct()))),
            "responses": len(twice),
            "approved": states["approved"],
            "payments": len(paid),
            "booked": str(sum((one.amount + one.fee for one in paid), Decimal(0))),
            "writes not confirmed": session.scalar(
                select(func.count(OutboxRow.id)).where(OutboxRow.state != "confirmed")
            ),
        }
    engine.dispose()
    pages = client.get_paginator("list_hits").paginate(PaginationConfig={"PageSize": 100})
    left = Decimal(client.get_account_balance()["AvailableBalance"])
    found |= {"hits there": sum(len(page["HITs"]) for page in pages), "left the account": str(before - left)}
    wanted = {
        "hits planned": -(-rows // PLACES),
        "hits there": -(-rows // PLACES),
        "responses": rows * PASSAGES,
        "writes not confirmed": 0,
        "booked": found["left the account"],
        **dict.fromkeys(("rows held once", "rows", "answers", "approved", "payments"), rows),
    }
    found["wrong"] = {name: [found[name], value] for name, value in wanted.items() if found[name] != value}
    return found


def trial(programs: Programs, url: str, rows: int) -> dict[str, object]:
    """The whole trial. Each step has its programs at once."""
    write_files(programs.folder, rows)
    programs.run("stories", "import", "--bundled")
    for generator in (("control",), ("human",), ("human", "--as", SYSTEM)):
        programs.run("generate", "--generator", *generator)
    programs.run("study", "create", STUDY, "--file", "study.toml")
    with ExitStack() as stack:
        market = stack.enter_context(programs.served("market", "serve", "--database", "market.db"))
        programs.environment |= {"HUMANEVAL_MARKET_URL": market, "HUMANEVAL_MARKET_SITE": market}
        forms = [stack.enter_context(programs.served("serve")) for _ in range(2)]
        programs.environment |= {"HUMANEVAL_PUBLIC_URL": stack.enter_context(by_turns(forms))}
        client = boto3.client(
            "mturk",
            endpoint_url=market,
            region_name="us-east-1",
            aws_access_key_id="a",
            aws_secret_access_key="b",
        )
        before = Decimal(client.get_account_balance()["AvailableBalance"])
        for each in [programs.start("publish", STUDY, "--to", "local") for _ in range(2)]:
            finished(each)
        crowds = [
            programs.start(
                "simulate", STUDY, "--annotators", str(rows // 2), "--seed", str(seed), "--skill", "control=1"
            )
            for seed in range(2)
        ]
        rounds = 0
        while any(crowd.poll() is None for crowd in crowds):
            for each in [programs.start("collect", STUDY, "--to", "local") for _ in range(COLLECTORS)]:
                finished(each)
            rounds += 1
        for crowd in crowds:
            finished(crowd)
        programs.run("collect", STUDY, "--to", "local")
        review = ("review", STUDY, "--to", "local", "--approve")
        for each in [programs.start(*review) for _ in range(2)]:
            each.communicate()  # one of them may be told that the other was faster
        programs.run(*review)
        programs.run("collect", STUDY, "--to", "local")
        return {"collections": rounds * COLLECTORS, **books(url, rows, client, before)}


@contextmanager
def database(url: str | None, folder: Path) -> Iterator[str]:
    """An empty PostgreSQL database: of a server of the npm package, unless `url` names one."""
    if url:
        yield url
        return
    for server in serving(folder):
        with create_engine(server, isolation_level="AUTOCOMMIT").connect() as connection:
            connection.execute(text("CREATE DATABASE together"))
        yield server.replace("/postgres?", "/together?")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=180)
    parser.add_argument("--postgres", help="URL of an empty PostgreSQL database")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="together-") as room:
        folder = Path(room)
        folder.chmod(0o755)
        with database(given.postgres, folder) as url:
            began = time.perf_counter()
            found = trial(Programs(folder, url), url, given.rows)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    found |= {
        "seconds": round(time.perf_counter() - began),
        "cpu_seconds": round(used.ru_utime + used.ru_stime),
    }
    print(json.dumps(found, indent=1))
    if found["wrong"]:
        raise SystemExit("the books are not exact")


if __name__ == "__main__":
    main()
