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
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from generators.checkpoints.loading import load
from generators.training.log import LOG, read_log
from generators.training.state import STATE_TENSORS
from tests.commands import Command
from tests.conftest import ROOT
from tests.forking.program import Program
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

LOADED = ("matplotlib.figure", "torch", "transformers.models.gpt2", "generators.training.train_causal")
"""What training needs. Loading it takes longer than training."""


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
    assert command(*arguments, whole).code == 0

    def begun() -> Program:
        return Program(*arguments, killed, environment=ENVIRONMENT, modules=LOADED)

    def chosen() -> list[int]:
        return sorted(random.sample(range(1, 11), 2))

    moments = chosen()
    while moments:
        with begun() as run:
            while lines(killed) < moments[0] and run.poll() is None:
                time.sleep(0.002)
            time.sleep(random.random() * 0.05)
            run.kill()
            status = run.wait()
        if status == 0:  # over before the kill, because this process had to wait: once more
            shutil.rmtree(killed)
            moments = chosen()
            continue
        assert status == -signal.SIGKILL
        del moments[0]
        if (killed / "infilling.json").exists() or (killed / "next").exists():
            load(killed)
    assert begun().wait() == 0
    same_state(whole, killed)
    assert (whole / "model.safetensors").read_bytes() == (killed / "model.safetensors").read_bytes()
    assert load(whole).card.training["step"] == load(killed).card.training["step"]
    assert load(whole).card.training["plan"]["loss"] == "one-mean", "the preset's"
    assert [line["step"] for line in read_log(killed)] == [*range(4, 49, 4)]


TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "humaneval"]


def forked(arguments: Sequence[str | Path], group: Mapping[str, str]) -> str:
    """Two processes with the environment that torchrun gives; what they say."""
    with TemporaryFile("w+") as complaints, ExitStack() as both:
        runs = [
            both.enter_context(
                Program(
                    *arguments,
                    stdout=subprocess.PIPE,
                    stderr=complaints,
                    environment={**ENVIRONMENT, **group, "RANK": rank, "LOCAL_RANK": rank},
                    modules=LOADED,
                )
            )
            for rank in "01"
        ]
        texts = [run.communicate() for run in runs]
        complaints.seek(0)
        assert [run.returncode for run in runs] == [0, 0], complaints.read()[-3000:]
    return "".join(texts)


def by_torchrun(arguments: Sequence[str | Path], group: Mapping[str, str]) -> str:
    run = subprocess.run(
        [sys.executable, *TORCHRUN, *arguments],
        env={**ENVIRONMENT, **group},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return run.stdout


@pytest.mark.parametrize("launch", [forked, pytest.param(by_torchrun, marks=pytest.mark.long)])
def test_two_processes_share_a_run_and_have_the_losses_of_one(
    launch: Callable[[Sequence[str | Path], Mapping[str, str]], str], command: Command, tmp_path: Path
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
    printed = launch([*arguments, tmp_path / "two"], group)
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
    assert printed.count("steps") == 1
