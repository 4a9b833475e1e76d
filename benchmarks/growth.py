"""Wall time, CPU and peak memory of every verb on a database of a given size; prints JSON lines.

    python benchmarks/growth.py [--folder DIR] [--stories 10000] [--rows 1250] [--verbs collect,report]

`--stories` times ten infills (two systems, five positions) and `--rows` times eight responses pass through a
study. Each verb is the command line itself, in a process of its own. The people are `crowd`: a loader that
calls the functions of the pages, without HTTP. Run it for two sizes ten apart, and compare. The folder keeps
what earlier verbs made, so that one verb can be run again.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SYSTEMS = ("good", "fair", "poor", "new", "old", "odd")
REPLAYED = ("good", "fair")
"""The systems of the large file of infills; the others are replayed for the stories of the study only."""
WORDS = [
    "the",
    "a",
    "his",
    "her",
    "their",
    "small",
    "old",
    "quick",
    "happy",
    "green",
    "dog",
    "cat",
    "boy",
    "girl",
    "man",
    "woman",
    "friend",
    "door",
    "house",
    "tree",
    "river",
    "road",
    "ran",
    "walked",
    "looked",
    "found",
    "took",
    "gave",
    "made",
    "saw",
    "heard",
    "told",
    "wanted",
    "needed",
    "went",
    "came",
    "sat",
    "stood",
    "began",
    "ended",
    "with",
    "without",
    "under",
    "over",
    "near",
    "behind",
    "before",
    "after",
]
STUDY = "growth"


def sentence(rng: random.Random) -> str:
    """A sentence of ten words."""
    words = rng.choices(WORDS, k=10)
    return " ".join(words).capitalize() + "."


def write_stories(path: Path, count: int) -> None:
    """A story file in the format of ROCStories."""
    rng = random.Random(1)
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["storyid", "storytitle", *(f"sentence{place}" for place in range(1, 6))])
        for number in range(count):
            out.writerow([f"s{number}", f"Story {number}", *(sentence(rng) for _ in range(5))])


def write_infills(path: Path, count: int, systems: tuple[str, ...]) -> None:
    """A sentence by each of `systems` for each blank of the first `count` stories."""
    rng = random.Random(2)
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["story", "position", "generator", "text"])
        for number in range(count):
            for position in range(1, 6):
                for system in systems:
                    out.writerow([f"s{number}", position, system, sentence(rng)])


def write_study(path: Path, rows: int) -> None:
    """A study file: eight passages a row."""
    generators = ", ".join(f'"{name}"' for name in ("control", "human", *SYSTEMS))
    path.write_text(
        f'[design]\ngenerators = [{generators}]\ncontrol = "control"\nhuman = "human"\nannotators = {rows}\n'
    )


def crowd(database: str, rows: int) -> None:
    """`rows` people open and answer a form each, as by the open link: with a skill of their own."""
    from humaneval.crowd.answers import CONSENT, FORM, answer_field, seconds_field
    from humaneval.crowd.claims import open_form
    from humaneval.crowd.form_of_row import load_form
    from humaneval.crowd.store_answers import keep_answers
    from humaneval.settings import database_url
    from humaneval.store.engine import open_engine, reading
    from humaneval.store.tables import HitRow
    from humaneval.store.types import now
    from humaneval.study.stored import open_study, study_key

    engine = open_engine(database_url(database))
    key = study_key(open_study(engine, STUDY))
    with reading(engine) as session:
        hit = session.query(HitRow).filter(HitRow.audience == "open").one().key
    skill = {"control": 1.0, "human": 0.0} | {name: 0.1 * at for at, name in enumerate(SYSTEMS)}
    for number in range(rows):
        rng = random.Random(number)
        opened = open_form(
            engine,
            hit_key=hit,
            external_hit="",
            assignment=f"a{number}",
            worker=f"visitor {number}",
            now=now(),
            program=True,
        )
        form = load_form(engine, opened.assignment_id).form
        fields = {FORM: form.form_hash, CONSENT: "1"}
        shift = rng.gauss(0, 0.15)
        for place, shown in enumerate(key[form.form_hash], 1):
            knows = rng.random() < skill[str(shown["generator"])] + shift * (shown["generator"] != "control")
            fields[answer_field("choice", place)] = str(shown["position"] if knows else rng.randint(1, 5))
            fields[seconds_field(place)] = f"{rng.uniform(8, 40):.1f}"
        keep_answers(engine, opened.assignment_id, fields, now(), program=True)


def verbs(folder: Path, stories: int, rows: int) -> dict[str, list[str]]:
    """The verbs in their order, and the arguments of each."""
    shown = str(min(stories, max(60, rows)))
    replay = ["generate", "--generator", "replay", "--checkpoint"]
    return {
        "import": ["stories", "import", str(folder / "stories.csv")],
        "control": ["generate", "--generator", "control"],
        "human": ["generate", "--generator", "human"],
        "replay": [*replay, str(folder / "large.csv")],
        "replay others": [*replay, str(folder / "small.csv"), "--stories", shown],
        "create": ["study", "create", STUDY, "--file", str(folder / "study.toml")],
        "audit": ["study", "audit", STUDY],
        "publish": ["publish", STUDY, "--to", "link"],
        "crowd": [],
        "status": ["status", STUDY],
        "collect": ["collect", STUDY, "--to", "link"],
        "collect again": ["collect", STUDY, "--to", "link"],
        "review": ["review", STUDY, "--to", "link", "--json"],
        "approve": ["review", STUDY, "--to", "link", "--approve"],
        "export": ["export", STUDY, "--out", str(folder / "responses.csv")],
        "export infills": ["export", STUDY, "--infills", "--out", str(folder / "infills")],
        "score": ["score", STUDY],
        "report": ["report", STUDY, "--out", str(folder / "report.html")],
        "archive": ["archive", STUDY, "--out", str(folder / "archive.zip")],
        "archive check": ["archive", "--check", str(folder / "archive.zip")],
        "workers": ["worker", "list", STUDY, "--to", "link", "--json"],
        "enlarge": ["study", "enlarge", STUDY, "--annotators", "40", "--yes"],
        "replay spare": [*replay, str(folder / "large.csv"), "--option", "generator=good", "--as", "spare"],
        "forget": ["generators", "forget", "spare"],
    }


def prepare(folder: Path, stories: int, rows: int) -> None:
    """The files that the verbs read; files that are there stay."""
    if not (folder / "study.toml").exists():
        write_stories(folder / "stories.csv", stories)
        write_infills(folder / "large.csv", stories, REPLAYED)
        others = tuple(name for name in SYSTEMS if name not in REPLAYED)
        write_infills(folder / "small.csv", min(stories, max(60, rows)), others)
        write_study(folder / "study.toml", rows)


def timed(verb: str, command: list[str], folder: Path) -> dict[str, object]:
    """Run a command; what it took. The peak is that of the largest process so far, so each has its own."""
    start = time.perf_counter()
    with (folder / "log.txt").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        _, status, used = os.wait4(process.pid, 0)
    return {
        "verb": verb,
        "seconds": round(time.perf_counter() - start, 2),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 2),
        "peak_mib": used.ru_maxrss // 1024,
        "exit": os.waitstatus_to_exitcode(status),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--stories", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=1_250)
    parser.add_argument("--verbs", default="")
    parser.add_argument("--crowd", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        database = str(folder / "growth.db")
        if options.crowd:
            crowd(database, options.rows)
            return
        prepare(folder, options.stories, options.rows)
        wanted = [name for name in options.verbs.split(",") if name]
        for verb, arguments in verbs(folder, options.stories, options.rows).items():
            if wanted and verb not in wanted:
                continue
            command = [sys.executable, "-m", "humaneval", "--database", database, *arguments]
            if verb == "crowd":
                command = [sys.executable, __file__, "--crowd", "--folder", str(folder), "--rows"]
                command.append(str(options.rows))
            line = timed(verb, command, folder)
            print(json.dumps({"stories": options.stories, "rows": options.rows, **line}), flush=True)


if __name__ == "__main__":
    main()
