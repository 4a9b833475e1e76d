"""Sentences a second on one GPU: the paper's procedure, transformers' `generate`, and ours without and with
CUDA graphs, in bf16 and fp32.

    python benchmarks/gpu_generation.py [--out FOLDER] [--seconds 230]

The wall clock counts, between synchronisations; the first calls of each shape do not. All take turns, and the
figures are medians. Each point is a JSON line that is written as it comes. After `--seconds` no point is
started. `--device cpu --model tiny` tries the script.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch

from benchmarks.writing import (
    Bench,
    Row,
    alike,
    by_generate,
    by_ours,
    by_plain,
    least_work,
    nucleus_of,
    prepare,
)
from generators.sampling import gpt2_steps
from generators.sampling.stepping import steps

if TYPE_CHECKING:
    from benchmarks.gpu import Setting

SHAPES = ((1, 1), (5, 5), (1, 5), (5, 1))
BATCHES = (1, 8, 32, 128, 512)
TURNS, FEW = 5, 3
CONTEXTS = 500
"""Those of the paper's evaluation by people: 100 stories, each of their five sentences."""
Say = Callable[..., None]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("gpu-results"))
    parser.add_argument("--seconds", type=float, default=230)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--model", choices=("gpt2", "small", "tiny"), default="gpt2")
    parser.add_argument("--probe", action="store_true", help="Only compare logits, and end.")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.probe:
        print(json.dumps(probe(options.device, options.model)))
        return
    began = time.monotonic()
    with (options.out / "gpu-generation.jsonl").open("a", encoding="utf-8") as file:

        def say(**record: Any) -> None:
            line = json.dumps({"at": round(time.monotonic() - began, 1), **record})
            print(line, flush=True)
            print(line, file=file, flush=True)

        table(options.device, options.model, say, began + options.seconds)


def generate(setting: Setting) -> None:
    """The part of `benchmarks/gpu.py`."""
    name = "tiny" if setting.options.small else "gpt2"
    table(setting.device, name, setting.say, time.monotonic() + 230)


def table(device: str, name: str, say: Say, until: float) -> None:
    """All points, until the time is up."""
    graphs = "cuda" in device and probed(device, name, say)
    for precision, dtype in (("bf16", torch.bfloat16), ("fp32", torch.float32)):
        bench = prepare(name, device, dtype)
        operations, bandwidth = peaks(device, dtype)
        say(
            device=torch.cuda.get_device_name() if "cuda" in device else "cpu",
            torch=torch.__version__,
            model=name,
            precision=precision,
            nucleus=nucleus_of(bench),
            tflop_per_second=round(operations / 1e12, 1),
            gb_per_second=round(bandwidth / 1e9),
        )
        for batch in BATCHES:
            for blanks, samples in SHAPES if batch >= 32 else SHAPES[:1]:
                if time.monotonic() > until:
                    say(stopped="the time is up")
                    return
                rows = bench.rows(batch, blanks, samples)
                least = least_work(bench, rows, operations, bandwidth)
                found = point(bench, rows, device, graphs=graphs)
                best = max(found["ours"], found.get("graphs", 0))
                say(
                    precision=precision,
                    batch=batch,
                    blanks=blanks,
                    samples=samples,
                    **found,
                    seconds_for_500=round(CONTEXTS / best, 3),
                    roofline=round(batch / least.seconds),
                    share_of_roofline=round(best * least.seconds / batch, 3),
                )
        del bench


def point(bench: Bench, rows: list[Row], device: str, *, graphs: bool) -> dict[str, Any]:
    """Medians of the turns, of all systems."""
    few = rows[:FEW]
    systems: dict[str, Callable[[], object]] = {
        "plain": lambda: by_plain(bench, few),
        "generate": lambda: by_generate(bench, rows),
        "ours": lambda: _without_graphs(bench, rows),
    }
    if graphs:
        systems["graphs"] = lambda: by_ours(bench, rows)
    same = {}
    for name, write in systems.items():  # the second call of a shape captures graphs
        written: Any = (write(), write())[1] if name == "graphs" else write()
        same[name] = written
    rates: dict[str, list[float]] = {name: [] for name in systems}
    for _ in range(TURNS):
        for name, write in systems.items():
            _wait(device)
            began = time.perf_counter()
            write()
            _wait(device)
            count = alike(few, rows) if name == "plain" else len(rows)
            rates[name].append(count / (time.perf_counter() - began))
    found: dict[str, Any] = {name: round(statistics.median(some), 1) for name, some in rates.items()}
    mine = "graphs" if graphs else "ours"
    for name in rates:
        ratios = [a / b for a, b in zip(rates[mine], rates[name], strict=True)]
        if name != mine:
            found[f"{mine}_over_{name}"] = round(statistics.median(ratios), 2)
            found[f"{mine}_over_{name}_all"] = [round(ratio, 2) for ratio in ratios]
    if graphs:
        equal = [a == b for a, b in zip(same["ours"], same["graphs"], strict=True)]
        found["same_texts_with_graphs"] = round(sum(equal) / len(equal), 3)
    return found


def _without_graphs(bench: Bench, rows: Sequence[Row]) -> list[list[int]]:
    with no_graphs():
        return by_ours(bench, rows)


@contextmanager
def no_graphs() -> Iterator[None]:
    """Without graphs, and without forgetting those that there are."""
    usual = gpt2_steps.replay_of
    gpt2_steps.replay_of = lambda *_: None
    try:
        yield
    finally:
        gpt2_steps.replay_of = usual


def probed(device: str, name: str, say: Say) -> bool:
    """Whether graphs work here, tried in a process of its own: a fault of a kernel ends a process for
    good."""
    command = [sys.executable, __file__, "--probe", "--device", device, "--model", name]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
        found = json.loads(run.stdout.strip().splitlines()[-1])
    except (subprocess.TimeoutExpired, ValueError, IndexError) as error:
        found = {"failed": repr(error)[:300]}
        if not isinstance(error, subprocess.TimeoutExpired):
            found["said"] = run.stderr[-1500:]
    say(probe=found)
    return "failed" not in found and found["largest_difference"] < 0.05


def probe(device: str, name: str) -> dict[str, Any]:
    """The largest difference between our logits, step by step, and those of the library's whole passes, in
    fp32: without graphs, and with them."""
    bench = prepare(name, device)
    rows = [row.ids for row in bench.rows(8, 5, 1)]
    more = torch.arange(100, 100 + 40 * 8).view(40, 8)
    differences = []
    with torch.inference_mode():
        for _ in range(3):  # from the second on, there are graphs
            run = steps(bench.model, rows, 41)
            found = [run.read().clone()]
            found += [run.feed(more[at].tolist()).clone() for at in range(40)]
            largest = 0.0
            for number, ids in enumerate(rows):
                whole = torch.tensor([[*ids, *more[:, number].tolist()]], device=device)
                exact = bench.model(input_ids=whole).logits[0, len(ids) - 1 :]
                mine = torch.stack([one[number] for one in found])
                largest = max(largest, float((exact - mine).abs().max()))
            differences.append(round(largest, 6))
    return {"largest_difference": max(differences), "turns": differences}


def peaks(device: str, dtype: torch.dtype) -> tuple[float, float]:
    """Operations and bytes a second: a product of large matrices, and a copy."""
    side, items = (8192, 1 << 30) if "cuda" in device else (128, 1 << 20)
    left, right = (torch.randn(side, side, device=device, dtype=dtype) for _ in range(2))
    many = torch.ones(items, device=device, dtype=torch.bfloat16)
    other = torch.empty_like(many)

    def best(work: Callable[[], object]) -> float:
        found = []
        for _ in range(8):
            _wait(device)
            began = time.perf_counter()
            work()
            _wait(device)
            found.append(time.perf_counter() - began)
        return min(found)

    return 2 * side**3 / best(lambda: left @ right), 2 * many.nbytes / best(lambda: other.copy_(many))


def _wait(device: str) -> None:
    if "cuda" in device:
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
