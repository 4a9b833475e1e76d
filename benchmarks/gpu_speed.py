"""The part `speed` of `benchmarks/gpu.py`: training steps of ours and of the plain baseline, in turns."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from benchmarks import plain
from generators.checkpoints.sequences import encode
from generators.sampling.flat_forward import Batch, place, weighted_loss
from generators.training.causal_model import make_optimizer, new_model
from generators.training.causal_run import ahead, compiled, update
from generators.training.examples import MaskedCorpus
from generators.training.model_perplexity import precision
from generators.training.packing import capacity, training_batches
from generators.training.plan import Plan

if TYPE_CHECKING:
    from benchmarks.gpu import Setting

PEAKS = {"H100": 989e12, "H200": 989e12, "A100": 312e12}
"""Dense bf16 operations a second by the makers' sheets, of the SXM cards."""
SLOWER = ("PCIe", "NVL")
"""Builds of the same chips that reach less, by what their names hold."""


def speed(setting: Setting) -> None:
    """Useful (unpadded) tokens a second of the baseline and of ours, in turns, medians over the turns."""
    setting.stories["train"] = setting.stories["train"][:8000]
    corpus = setting.masked("train", 4)
    steps = 3 if setting.options.small else 5
    if not setting.options.no_check:
        _check(setting, corpus)
    baseline = _baseline(setting, corpus)
    runs: dict[str, tuple[Callable[[int], int], int]] = {"baseline": (baseline, steps)}
    sizes = (24, 48) if setting.options.small else setting.options.sizes
    for size in sizes:
        for compile in (False,) if setting.options.no_compile else (False, True):
            if size != 24 and not compile and not setting.options.no_compile:
                continue
            name = f"batch {size}{' compiled' if compile else ''}"
            try:
                run = _ours(setting, corpus, size, compile=compile)
                runs[name] = (run, steps * (4 if size == 24 else 1))
            except Exception as error:
                setting.say(failed=name, error=repr(error)[:500])
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(5):
        for name, (run, count) in runs.items():
            _wait(setting)
            began = time.perf_counter()
            tokens = run(count)
            _wait(setting)
            rates[name].append(tokens / (time.perf_counter() - began))
    base = statistics.median(rates["baseline"])
    model = new_model(setting.architecture, setting.special, 0)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    length = float(corpus.lengths("ilm").mean())
    flops = 6 * parameters + 12 * setting.architecture.layers * setting.architecture.width * length
    name, peak = peak_of(torch.cuda.get_device_name() if "cuda" in setting.device else "cpu")
    setting.say(
        formula="FLOP/token = 6 N + 12 layers width T",
        N=parameters,
        T=round(length, 1),
        flop_per_token=flops,
        peak=None if math.isinf(peak) else peak,
        peak_of=name,
    )
    for name, found in rates.items():
        rate = statistics.median(found)
        setting.say(
            run=name,
            precision="fp32" if name == "baseline" or setting.device == "cpu" else "bf16",
            useful_tokens_per_second=round(rate),
            all=[round(one) for one in found],
            ratio=round(statistics.median(a / b for a, b in zip(found, rates["baseline"], strict=True)), 2),
            mfu=None if math.isinf(peak) else round(rate * flops / peak, 4),
            baseline=round(base),
        )


def peak_of(device: str) -> tuple[str, float]:
    """The card of a device in PEAKS, by the name that its driver gives, and its operations per second. For an
    unknown card they are infinite, so that no MFU is reported."""
    known = {} if any(build in device for build in SLOWER) else PEAKS
    return next(
        ((card, peak) for card, peak in known.items() if card in device), (f"{device}: unknown", math.inf)
    )


def _wait(setting: Setting) -> None:
    if "cuda" in setting.device:
        torch.cuda.synchronize()


def _check(setting: Setting, corpus: MaskedCorpus) -> None:
    """The fast way computes the same loss, and no example sees another."""
    model = new_model(setting.architecture, setting.special, 0).to(setting.device).eval()
    batch = next(training_batches(corpus, "ilm", seed=0, size=24))
    room = capacity(corpus, "ilm", 24)
    bf16 = "bf16" if "cuda" in setting.device else None
    with torch.inference_mode():
        exact = float(weighted_loss(model, place(batch, setting.device)))
        with precision(setting.device, bf16):
            fast = float(weighted_loss(model, place(batch, setting.device, capacity=room)))
            end = int(batch.bounds[1])
            alone = Batch(batch.ids[:end], batch.types[:end], batch.weights[:end], batch.bounds[:2])
            first = float(weighted_loss(model, place(alone, setting.device)))
            other = batch.ids.copy()
            other[end:] = other[end:][::-1]
            kept = batch.weights.copy()
            kept[end:] = 0
            beside = float(
                weighted_loss(model, place(batch._replace(ids=other, weights=kept), setting.device))
            )
    setting.say(
        check="loss",
        fp32_padded=exact,
        bf16_ragged=fast,
        relative=abs(fast - exact) / exact,
        alone=first,
        beside_another=beside,
    )


def _baseline(setting: Setting, corpus: MaskedCorpus) -> Callable[[int], int]:
    model = new_model(replace(setting.architecture, attention_dropout=0.1), setting.special, 0)
    model.to(setting.device).train()
    adam = plain.optimizer(model)
    examples = encode("ilm", corpus.take(range(24 * 30)), corpus.special)
    rows = [(ids.tolist(), types.tolist()) for ids, types in examples]
    at = 0

    def run(steps: int) -> int:
        nonlocal at
        tokens = 0
        for _ in range(steps):
            chosen = rows[at : at + 24]
            at = (at + 24) % len(rows)
            plain.step(model, chosen, adam)
            tokens += sum(len(ids) for ids, _ in chosen)
        return tokens

    run(2)
    return run


def _ours(setting: Setting, corpus: MaskedCorpus, size: int, *, compile: bool) -> Callable[[int], int]:
    model = new_model(setting.architecture, setting.special, 0).to(setting.device).train()
    plan = Plan("ilm", batch=size)
    optimizer = make_optimizer(model, plan)
    room = capacity(corpus, "ilm", size) if compile else 0
    loss = compiled(room) if compile else weighted_loss
    bf16 = "bf16" if "cuda" in setting.device else None
    batches = ahead(
        training_batches(corpus, "ilm", seed=0, size=size),
        lambda batch: (len(batch.ids), place(batch, setting.device, capacity=room)),
        threaded="cuda" in setting.device,
    )

    def run(steps: int) -> int:
        total = 0
        for _ in range(steps):
            tokens, flat = next(batches)
            with precision(setting.device, bf16):
                value = loss(model, flat)
            value.backward()
            update(model, optimizer, plan)
            total += tokens
        return total

    began = time.monotonic()
    run(6)
    _wait(setting)
    peak = torch.cuda.max_memory_allocated() / 1e9 if "cuda" in setting.device else 0
    setting.say(
        warm=f"batch {size}",
        compiled=compile,
        seconds=round(time.monotonic() - began, 1),
        room=room,
        peak_gb=round(peak, 1),
    )
    return run
