"""HITs a second of `publish`, outbox and all, beside bare `create_hit` calls at the same marketplace in the
same run.

Prints one JSON object a round: bare, publish, bare again, each the given number of HITs, asked for alike; the
ratio is of publish to the mean of the two.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from humaneval.crowd.endpoints import local
from humaneval.crowd.form_page import external_question
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import open_study_at
from humaneval.domain import GeneratorRequest
from humaneval.infills.blanks import blanks_of
from humaneval.infills.generate import run
from humaneval.kinds import build
from humaneval.store.engine import open_engine
from humaneval.store.migrate import open_current
from humaneval.store.stories import add_stories
from humaneval.stories import bundled_stories
from humaneval.study.create import create_study
from humaneval.study.file import read_study_file

PER_HIT = 9


@contextmanager
def marketplace(folder: Path) -> Iterator[str]:
    """A marketplace in a process of its own; yields its address."""
    command = [sys.executable, "-m", "humaneval", "market", "serve", "--port", "0"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(r"AWS_ENDPOINT_URL_MTURK=(\S+)", line):
                yield found.group(1)
                return
        raise SystemExit("the marketplace did not start")
    finally:
        process.terminate()
        process.wait()


def study(engine: Engine, name: str, hits: int) -> None:
    """A study that is carried by so many HITs of nine assignments."""
    settings, source = read_study_file(
        None,
        overrides={
            "design": {"generators": ["control", "human"], "annotators": hits * PER_HIT},
            "hit": {"reward": "0.01"},
        },
    )
    create_study(engine, name, settings, source)


def asked(platform: MTurk, engine: Engine) -> dict[str, Any]:
    """What `publish` asks for a HIT, exclusion list and all: the bare calls ask for the same."""
    seen: list[dict[str, Any]] = []
    platform.client.meta.events.register(
        "provide-client-params.mturk.CreateHIT",
        lambda params, **_: seen.append(dict(params)),
        unique_id="bench",
    )
    study(engine, "warm", 1)
    plan_hits(open_study_at(engine, "warm", platform))
    publish_hits(open_study_at(engine, "warm", platform), public_url="http://localhost:8730")
    platform.client.meta.events.unregister("provide-client-params.mturk.CreateHIT", unique_id="bench")
    return seen[0]


def bare(client: Any, hits: int, label: str, request: dict[str, Any]) -> float:
    """HITs a second of calls that nothing is written down for."""
    began = time.perf_counter()
    for number in range(hits):
        own = {
            "Keywords": label,
            "Question": external_question(f"http://localhost:8730/form/{label}{number}"),
            "RequesterAnnotation": f"bare:{label}{number}",
            "UniqueRequestToken": f"{label} {number}",
        }
        client.create_hit(**(request | own))
    return hits / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hits", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as room, marketplace(Path(room)) as url:
        engine = open_engine(f"sqlite:///{room}/bench.db")
        open_current(engine)
        stories = [story for story in bundled_stories() if story.split == "test"]
        add_stories(engine, stories)
        for kind in ("control", "human"):
            for generator in build(GeneratorRequest(kind)):
                run(engine, generator, blanks_of(stories, (1, 2, 3, 4, 5)))
        platform = MTurk(local(url))
        request = asked(platform, engine)
        for number in range(given.rounds):
            name = f"round{number}"
            study(engine, name, given.hits)
            plan_hits(open_study_at(engine, name, platform))
            before = bare(platform.client, given.hits, f"{name}a", request)
            began = time.perf_counter()
            made = publish_hits(
                open_study_at(engine, name, platform), public_url="http://localhost:8730"
            ).made
            ours = made / (time.perf_counter() - began)
            after = bare(platform.client, given.hits, f"{name}b", request)
            print(
                json.dumps(
                    {
                        "figure": "publishing",
                        "hits": made,
                        "bare": [round(before, 1), round(after, 1)],
                        "publish": round(ours, 1),
                        "ratio": round(2 * ours / (before + after), 3),
                    }
                ),
                flush=True,
            )
        engine.dispose()


if __name__ == "__main__":
    main()
