"""A plan of faults: read from a line or a file, and drawn by seed, step and call number."""

from __future__ import annotations

import json
import re
import textwrap
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from humaneval.errors import UsageError
from humaneval.market import Faults, Trouble
from humaneval.market.faults.admin import TOKEN_HEADER
from humaneval.market.faults.kinds import KINDS
from humaneval.market.faults.plan import Fault, faults_from, read_line, read_plan
from tests.conftest import ROOT

STEPS = ("CreateHIT", "GetHIT", "SendBonus")


def drawn(seed: int, line: str, calls: list[str]) -> dict[str, list[Trouble | None]]:
    """What happens to the calls of each step."""
    faults = Faults(read_line(line), seed)
    outcomes: dict[str, list[Trouble | None]] = {}
    for step in calls:
        outcomes.setdefault(step, []).append(faults(step))
    return outcomes


def test_C68_the_same_seed_draws_the_same_faults_however_calls_interleave() -> None:
    line = "throttled=0.2 reply-lost=0.3,only=CreateHIT+SendBonus unavailable=0.1,after=5,times=3"
    one_by_one = [step for step in STEPS for _ in range(200)]
    in_turn = list(STEPS) * 200
    first = drawn(7, line, one_by_one)
    assert first == drawn(7, line, in_turn)
    assert first != drawn(8, line, one_by_one)
    assert 20 < first["CreateHIT"].count(Trouble.THROTTLED) < 60
    assert Trouble.REPLY_LOST not in first["GetHIT"]
    assert first["GetHIT"].count(Trouble.UNAVAILABLE) == 3
    assert Trouble.UNAVAILABLE not in first["GetHIT"][:5]


def test_C68_clients_at_once_meet_as_many_faults_as_one_after_the_other() -> None:
    faults = Faults(read_line("throttled=0.5,times=40"), 3)
    with ThreadPoolExecutor(8) as pool:
        met = sum(trouble is not None for trouble in pool.map(faults, ["GetHIT"] * 400))
    assert met == 40
    assert faults.happened() == [{"kind": "throttled", "chance": 0.5, "times": 40, "happened": 40}]


def test_faults_are_for_the_api_unless_the_site_is_named() -> None:
    for kind in KINDS:
        fault = Fault(kind=kind, seconds=1 if kind in ("slow", "clock") else 0)
        steps = {
            step
            for step in ("CreateHIT", "ListHITs", "accept", "return", "submit", "work")
            if fault.is_for(step)
        }
        expected = {"empty-page": {"ListHITs"}, "reused-id": {"accept"}, "unseen": {"work"}}
        assert steps == expected.get(kind, {"CreateHIT", "ListHITs"})
    assert Fault(kind="dropped", only=("submit",)).is_for("submit")


def test_a_line_and_a_file_say_the_same(tmp_path: Path) -> None:
    file = tmp_path / "faults.toml"
    file.write_text(
        '[[fault]]\nkind = "throttled"\nchance = 0.25\nonly = ["CreateHIT", "SendBonus"]\n'
        '[[fault]]\nkind = "clock"\nseconds = -90.5\nafter = 2\ntimes = 1\n'
    )
    line = "throttled=0.25,only=CreateHIT+SendBonus clock,seconds=-90.5,after=2,times=1"
    assert read_plan(str(file)) == read_plan(line)
    assert read_plan("none") == ()


def test_what_the_documentation_says_of_faults_is_true() -> None:
    text = (ROOT / "docs" / "marketplace.md").read_text(encoding="utf-8")
    for kind in KINDS:
        assert re.search(rf"^\| .*`{kind}`", text, re.M), kind
    lines = re.findall(r'--faults "([^"]+)"|`(\w[\w-]*=[\d.]+,only=\w+)`', text)
    assert len(lines) == 2
    assert all(read_line(one or other) for one, other in lines)
    (toml,) = re.findall(r"^    \[\[fault\]\]\n(?:(?:    .*)?\n)+", text, re.M)
    assert len(faults_from(tomllib.loads(textwrap.dedent(toml))["fault"])) == 2
    (body,) = re.findall(r"-d '(.+)'", text)
    assert read_line(json.loads(body)["faults"])
    assert TOKEN_HEADER in text


@pytest.mark.parametrize(
    "source",
    [
        "thunder",
        "throttled=2",
        "throttled=often",
        "throttled=nan",
        "clock,seconds=inf",
        "throttled,only=MakeHIT",
        "throttled,times=0",
        "throttled,seconds=3",
        "throttled,colour=red",
        "slow",
        "slow,seconds=-1",
        "clock",
        "throttled,after=-1",
        "nowhere/faults.toml",
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(source: str) -> None:
    with pytest.raises(UsageError, match="fault 1"):
        read_plan(source)


@pytest.mark.parametrize("text", ["fault = 3", "[fault", "seed = 3", "[[fault]]\nkind = 3"])
def test_a_file_that_makes_no_sense_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "faults.toml"
    file.write_text(text)
    with pytest.raises(UsageError):
        read_plan(str(file))
