"""Sentences a CPU second: ours against the paper's procedure, transformers' `generate` and ctranslate2.

    python benchmarks/generation.py [--model small|gpt2] [--batches 1 8 32 128] [--blanks 1 5]
        [--rounds 3] [--out FILE]

All run in turns, on one thread, and ratios are between neighbours. Batches have one or five blanks of a
story, and one or five samples of a blank. With ctranslate2 installed, it runs too. It cannot give each row
its length: all its sentences of a batch have the mean. Prints JSON lines.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

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

SHAPES = ((1, 1), (1, 5), (5, 1), (5, 5))
"""Blanks of a story, and samples of a blank."""
FEW = {"small": 8, "gpt2": 1, "tiny": 2}
"""Sentences of the plain loop in a round. They count by their tokens."""
ALONE = {"small": 8, "gpt2": 3, "tiny": 2}
"""Sentences that a batch of one is measured with."""
Writer = Callable[[Sequence[Row]], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", choices=tuple(FEW), default="small")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 32, 128])
    parser.add_argument("--blanks", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--samples", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    bench = prepare(options.model)
    operations, bandwidth = peaks()
    say(
        options.out,
        model=options.model,
        vocabulary=bench.special.total,
        nucleus=nucleus_of(bench),
        gflop_per_second=round(operations / 1e9, 1),
        gb_per_second=round(bandwidth / 1e9, 1),
        torch=torch.__version__,
        ctranslate2=compiled_version(),
    )
    with tempfile.TemporaryDirectory() as folder:
        systems: dict[str, Writer] = {
            "generate": lambda rows: by_generate(bench, rows),
            "ours": lambda rows: by_ours(bench, rows),
        }
        if compiled_version():
            systems["ctranslate2"] = compiled(bench, folder)
        for batch in options.batches:
            for blanks, samples in SHAPES[:1] if batch == 1 else SHAPES:
                if blanks not in options.blanks or samples not in options.samples:
                    continue
                rows = bench.rows(ALONE[options.model] if batch == 1 else batch, blanks, samples)
                record = measure(bench, systems, rows, batch, options)
                batches = [rows[at : at + batch] for at in range(0, len(rows), batch)]
                least = [least_work(bench, some, operations, bandwidth) for some in batches]
                seconds = sum(one.seconds for one in least) / len(rows)
                record["roofline"] = round(1 / seconds, 2)
                record["share_of_roofline"] = round(record["ours"] * seconds, 2)
                record["roofline_over_plain"] = round(1 / seconds / record["plain"], 2)
                record["gb_a_sentence"] = round(sum(one.bytes for one in least) / len(rows) / 1e9, 3)
                say(options.out, model=options.model, batch=batch, blanks=blanks, samples=samples, **record)


def say(out: Path | None, **record: Any) -> None:
    line = json.dumps(record)
    print(line, flush=True)
    if out:
        with out.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def measure(
    bench: Bench, systems: dict[str, Writer], rows: list[Row], batch: int, options: argparse.Namespace
) -> dict[str, Any]:
    """The median of the rounds for each system, and of the ratios in a round."""
    rates: dict[str, list[float]] = {name: [] for name in ("plain", *systems)}
    few = rows if batch == 1 else rows[: FEW[options.model]]
    for write in systems.values():  # the first call sets things up
        write(rows[:1])
    for turn in range(options.rounds):
        written = alike(few, rows) / len(few)
        rates["plain"].append(written * rate(lambda some: by_plain(bench, some), few, 1))
        names = list(systems)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            rates[name].append(rate(systems[name], rows, batch))
    found: dict[str, Any] = {name: round(statistics.median(some), 2) for name, some in rates.items()}
    for name in rates:
        if name != "ours":
            ratios = [ours / other for ours, other in zip(rates["ours"], rates[name], strict=True)]
            found[f"over_{name}"] = round(statistics.median(ratios), 2)
            found[f"over_{name}_all"] = [round(ratio, 2) for ratio in ratios]
    return found


def rate(write: Writer, rows: list[Row], batch: int) -> float:
    began = time.process_time()
    for at in range(0, len(rows), batch):
        write(rows[at : at + batch])
    return len(rows) / (time.process_time() - began)


def peaks() -> tuple[float, float]:
    """Operations and bytes a second of one thread, the best of some runs: a product of matrices, and the sum
    of a large array."""
    left, right = torch.randn(1024, 768), torch.randn(3072, 768)
    run = torch.ops.mkldnn._linear_pointwise
    packed = torch.ops.mkldnn._reorder_linear_weight(right, None)
    many = torch.ones(100_000_000)

    def best(work: Callable[[], object]) -> float:
        found = []
        for _ in range(8):
            began = time.process_time()
            work()
            found.append(time.process_time() - began)
        return min(found)

    operations = 2 * 1024 * 768 * 3072 / best(lambda: run(left, packed, None, "none", [], ""))
    return operations, many.nbytes / best(lambda: many.sum())


def compiled_version() -> str:
    if find_spec("ctranslate2") is None:
        return ""
    import ctranslate2  # type: ignore[import-not-found,unused-ignore]  # only some have it

    return str(ctranslate2.__version__)


def compiled(bench: Bench, folder: str) -> Writer:
    """The same weights in ctranslate2, in fp32. Tokens are called by their ids."""
    import ctranslate2
    from ctranslate2.converters.transformers import (  # type: ignore[import-not-found,unused-ignore]  # as above
        _MODEL_LOADERS,
    )

    spec = _MODEL_LOADERS["GPT2Config"].get_model_spec(bench.model)
    names = [str(id) for id in range(bench.special.total)]
    spec.register_vocabulary(names)
    spec.config.bos_token = spec.config.eos_token = spec.config.unk_token = str(bench.special.end)
    spec.validate()
    spec.optimize()
    spec.save(folder)
    engine = ctranslate2.Generator(
        folder, device="cpu", compute_type="float32", inter_threads=1, intra_threads=1
    )

    def write(rows: Sequence[Row]) -> object:
        # Samples of one context are asked for at once: it has a way for that.
        counts = Counter(tuple(row.ids) for row in rows)
        length = 1 + round(sum(row.length for row in rows) / len(rows))  # with the end
        found = []
        for samples in sorted(set(counts.values())):
            group = [ids for ids, count in counts.items() if count == samples]
            found += engine.generate_batch(
                [[names[id] for id in ids] for ids in group],
                max_length=length,
                min_length=length,
                num_hypotheses=samples,
                beam_size=1,
                sampling_topk=0,
                sampling_topp=0.95,
                include_prompt_in_result=False,
            )
        assert all(len(ids) == length for one in found for ids in one.sequences_ids)
        return found

    return write


if __name__ == "__main__":
    main()
