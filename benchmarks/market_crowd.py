"""Waiting times of workers who come to the marketplace at once, beside an empty Flask route in the same run.

    python benchmarks/market_crowd.py [--people 200] [--rounds 5]

Each worker, signed in before, looks at the list, accepts a HIT, opens the page with its frame, and sends what
a form would send. Prints the p99 of each step over the bare route's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from urllib.parse import urlencode

from benchmarks.market import QUESTION
from benchmarks.serve import Times, ask, percentile, served

STEPS = ("list", "accept", "work", "submit")
PLACES = 9
BARE = b"x=1&" * 60
CREATE = {
    "Description": "d",
    "Reward": "0.01",
    "AssignmentDurationInSeconds": 600,
    "LifetimeInSeconds": 86400,
    "MaxAssignments": PLACES,
    "Question": QUESTION,
}


async def _publish(port: int, title: str, hits: int) -> None:
    """Put up a group of HITs, by the API."""
    body = json.dumps({**CREATE, "Title": title}).encode()
    head = (
        f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Length: {len(body)}\r\n"
        "X-Amz-Target: MTurkRequesterServiceV20170117.CreateHIT\r\n\r\n"
    )
    for _ in range(hits):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head.encode() + body)
        assert b"HITId" in await reader.read(-1)
        writer.close()


async def _cookie(port: int, number: int) -> str:
    signed_in = await ask(port, "POST", "/signin", urlencode({"name": f"worker {number}"}).encode())
    return signed_in.headers["set-cookie"].partition(";")[0]


async def _work(port: int, cookie: str, times: Times) -> None:
    async def step(name: str, method: str, path: str, status: int, **fields: str) -> str:
        began = time.perf_counter()
        answer = await ask(port, method, path, urlencode(fields).encode(), cookie)
        times.steps[name].append(time.perf_counter() - began)
        if answer.status != status:
            times.failures[f"{name} {answer.status}"] += 1
        return answer.headers.get("location") or answer.content.decode()

    page = await step("list", "GET", "/hits", 200)
    form = re.search(r'action="([^"]+/accept)">(.*?)</form>', page, re.S)
    assert form, page
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[2]))
    assignment = await step("accept", "POST", form[1], 303, **fields)
    await step("work", "GET", assignment, 200)
    sent = {"assignmentId": assignment.rpartition("/")[2], "choice-1": "1"}
    await step("submit", "POST", "/mturk/externalSubmit", 200, **sent)


async def _bare(port: int, times: Times) -> None:
    for name in STEPS:
        began = time.perf_counter()
        posted = name in ("accept", "submit")
        await ask(port, "POST" if posted else "GET", "/bare", BARE if posted else b"")
        times.steps[name].append(time.perf_counter() - began)


async def _measure(ours: int, bare: int, people: int, rounds: int) -> None:
    cookies = [await _cookie(ours, number) for number in range(people)]
    ratios: dict[str, list[float]] = defaultdict(list)
    failures: Counter[str] = Counter()
    for number in range(rounds):
        await _publish(ours, f"Round {number}", -(-people // PLACES))
        empty, times = Times(), Times()
        await asyncio.gather(*(_bare(bare, empty) for _ in range(people)))
        await asyncio.gather(*(_work(ours, cookie, times) for cookie in cookies))
        failures += times.failures
        for name in STEPS:
            there, here = (percentile(each.steps[name], 0.99) for each in (empty, times))
            ratios[name].append(here / there)
            print(f"{number + 1} {name:7} p99 {here:7.1f}  bare p99 {there:7.1f} ms")
    found = ", ".join(f"{name} {statistics.median(ratios[name]):.1f}" for name in STEPS)
    print(f"p99 over the bare route's, median of {rounds}: {found}; refused {dict(failures)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    serve = str(Path(__file__).with_name("serve.py"))
    with (
        tempfile.TemporaryDirectory() as room,
        served(["-m", "humaneval", "market", "serve", "--port", "0"], Path(room), {}) as ours,
        served([serve, "--bare"], Path(room), {}) as bare,
    ):
        asyncio.run(_measure(ours, bare, given.people, given.rounds))


if __name__ == "__main__":
    main()
