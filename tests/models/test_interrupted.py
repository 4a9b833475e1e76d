"""`humaneval train` as a separate program: after kills at any moment, or with several processes, the result
is the same."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from generators.checkpoints.loading import load
from generators.training.log import LOG, read_log
from generators.training.state import STATE_TENSORS
from tests.commands import Command
from tests.conftest import ROOT
from tests.models.test_training import same_state
from tests.pace import PATIENCE
from tests.ports import free_port

pytestmark = [pytest.mark.models, pytest.mark.slow]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
TRAIN = [
    "train",
    "ilm",
    "--bundled",
    "--from-scratch",
    "--preset",
    "small",
    "--layers",
    "1",
    "--width",
    "16",
    "--heads",
    "1",
    "--vocabulary",
    "1500",
    "--copies",
    "2",
    "--batch",
    "4",
    "--device",
    "cpu",
    "--minutes",
    "1000",
]

LOADED = """
import os, sys
import matplotlib.figure, torch
from transformers import GPT2LMHeadModel
import generators.training.train_causal
from humaneval.cli.main import main
"""
"""A process that has loaded what training needs, and then runs the command line in processes that it forks:
loading takes longer than training."""
BY_TURNS = f"""{LOADED}
for line in sys.stdin:
    child = os.fork()
    if not child:
        os.dup2(2, 1)
        main(sys.argv[1:])
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Once for each line that it reads."""
TWO_AT_ONCE = f"""{LOADED}
children = []
for rank in "01":
    children.append(os.fork())
    if not children[-1]:
        os.environ |= {{"RANK": rank, "LOCAL_RANK": rank}}
        main(sys.argv[1:])
sys.exit(any([os.waitpid(child, 0)[1] for child in children]))
"""
"""Twice, with the environment that torchrun gives."""


def begun(runs: subprocess.Popen[str]) -> int:
    """The process of a new run."""
    assert runs.stdin is not None
    print("run", file=runs.stdin, flush=True)
    return said(runs)


def said(runs: subprocess.Popen[str]) -> int:
    assert runs.stdout is not None
    return int(runs.stdout.readline())


def lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def lines(folder: Path) -> int:
    return (folder / LOG).read_bytes().count(b"\n") if (folder / LOG).exists() else 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL: another system")
def test_a_run_that_is_killed_again_and_again_ends_with_the_weights_of_one_that_was_not(
    command: Command, tmp_path: Path
) -> None:
    """Two kills at random moments, different in each run of the test: within a step, an evaluation or a
    save."""
    arguments = [*TRAIN, "--steps", "48", "--evaluate-every", "4", "--out"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    program = [sys.executable, "-c", BY_TURNS, *arguments, str(killed)]
    assert command(*arguments, whole).code == 0

    def chosen() -> list[int]:
        return sorted(random.sample(range(1, 11), 2))

    moments = chosen()
    with subprocess.Popen(
        program,
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as runs:
        while moments:
            run = begun(runs)
            while lines(killed) < moments[0] and lives(run):
                time.sleep(0.002)
            time.sleep(random.random() * 0.05)
            with suppress(ProcessLookupError):
                os.kill(run, signal.SIGKILL)
            if said(runs) == 0:  # over before the kill, because this process had to wait: once more
                shutil.rmtree(killed)
                moments = chosen()
                continue
            del moments[0]
            if (killed / "infilling.json").exists() or (killed / "next").exists():
                load(killed)
        begun(runs)
        assert said(runs) == 0
    same_state(whole, killed)
    assert (whole / "model.safetensors").read_bytes() == (killed / "model.safetensors").read_bytes()
    assert load(whole).card.training["step"] == load(killed).card.training["step"]
    assert load(whole).card.training["plan"]["loss"] == "one-mean", "the preset's"
    assert [line["step"] for line in read_log(killed)] == [*range(4, 49, 4)]


TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "humaneval"]


@pytest.mark.parametrize(
    "launcher",
    [["-c", TWO_AT_ONCE], pytest.param(TORCHRUN, marks=pytest.mark.long)],
    ids=["two processes", "torchrun"],
)
def test_two_processes_share_a_run_and_have_the_losses_of_one(
    launcher: list[str], command: Command, tmp_path: Path
) -> None:
    arguments = [
        *TRAIN,
        "--steps",
        "4",
        "--evaluate-every",
        "1",
        "--dropout",
        "0",
        "--attention-dropout",
        "0",
        "--micro-batch",
        "3",
        "--loss",
        "answers=2",
        "--plain-rows",
        "0.4",
        "--out",
    ]
    group = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    assert command(*arguments, tmp_path / "one").code == 0
    run = subprocess.run(
        [sys.executable, *launcher, *arguments, str(tmp_path / "two")],
        env=ENVIRONMENT | group,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    one, two = (read_log(tmp_path / name) for name in ("one", "two"))
    assert [line["step"] for line in two] == [*range(1, 5)]
    for name in ("loss", "perplexity", "with_ends", "context"):
        assert [line[name] for line in two] == pytest.approx([line[name] for line in one], rel=1e-5)
    assert [line["tokens"] for line in two] == [line["tokens"] for line in one]
    assert (tmp_path / "two" / STATE_TENSORS).exists()
    card = load(tmp_path / "two").card
    assert card.kind == "ilm"
    assert card.training["plan"]["loss"] == "answers=2"
    assert card.training["plan"]["plain_rows"] == 0.4
    assert run.stdout.count("steps") == 1
