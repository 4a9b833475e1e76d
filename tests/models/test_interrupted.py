"""`humaneval train` as a separate program: after kills at any moment, or with several processes, the result
is the same."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from generators.checkpoints.loading import load
from generators.training.log import LOG, read_log
from generators.training.state import STATE_TENSORS
from tests.commands import Command
from tests.conftest import ROOT
from tests.models.test_training import same_state

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
    program = [sys.executable, "-m", "humaneval", *arguments, str(killed)]
    assert command(*arguments, whole).code == 0
    moments = sorted(random.sample(range(1, 11), 2))
    for after in moments:
        run = subprocess.Popen(program, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while lines(killed) < after and run.poll() is None:
            time.sleep(0.002)
        time.sleep(random.random() * 0.05)
        run.send_signal(signal.SIGKILL)
        assert run.wait() == -signal.SIGKILL, f"over before the kill after line {after} of {moments}"
        if (killed / "infilling.json").exists() or (killed / "next").exists():
            load(killed)
    subprocess.run(program, check=True, env=ENVIRONMENT, capture_output=True)
    same_state(whole, killed)
    assert (whole / "model.safetensors").read_bytes() == (killed / "model.safetensors").read_bytes()
    assert load(whole).card.training["step"] == load(killed).card.training["step"]
    assert load(whole).card.training["plan"]["loss"] == "one-mean", "the preset's"
    assert [line["step"] for line in read_log(killed)] == [*range(4, 49, 4)]


def test_two_processes_share_a_run_and_have_the_losses_of_one(command: Command, tmp_path: Path) -> None:
    arguments = [
        *TRAIN,
        "--steps",
        "10",
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
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "humaneval"]
    assert command(*arguments, tmp_path / "one").code == 0
    run = subprocess.run(
        [sys.executable, *launcher, *arguments, str(tmp_path / "two")],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    one, two = (read_log(tmp_path / name) for name in ("one", "two"))
    assert [line["step"] for line in two] == [*range(1, 11)]
    for name in ("loss", "perplexity", "with_ends", "context"):
        assert [line[name] for line in two] == pytest.approx([line[name] for line in one], rel=1e-5)
    assert [line["tokens"] for line in two] == [line["tokens"] for line in one]
    assert (tmp_path / "two" / STATE_TENSORS).exists()
    card = load(tmp_path / "two").card
    assert card.kind == "ilm"
    assert card.training["plan"]["loss"] == "answers=2"
    assert card.training["plan"]["plain_rows"] == 0.4
    assert run.stdout.count("steps") == 1
