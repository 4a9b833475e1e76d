"""The part `models` of `benchmarks/gpu.py`: GPT-2 small from scratch as LM, ILM, LM-All and LM-Rev, for the
same tokens each, and the perplexity of a masked sentence beside the paper's.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from generators.masks.documents import story_document
from generators.masks.spans import Granularity
from generators.sampling.choosing import Sampling
from generators.sampling.decoding import Prompt, Rules, draw
from generators.training.causal_model import new_model
from generators.training.causal_run import train
from generators.training.checkpoint_perplexity import OneSpan
from generators.training.examples import MaskedCorpus
from generators.training.log import Report
from generators.training.model_perplexity import perplexities
from generators.training.packing import evaluation_batches
from generators.training.paper import PUBLISHED, Key
from generators.training.plan import Plan
from humaneval.domain import Story

if TYPE_CHECKING:
    from benchmarks.gpu import Setting

ORDER = ("lm", "ilm", "lm-all", "lm-rev")
PILOT = 60
"""Steps that say how many tokens a second there are; the first 20 are not counted."""
AFTER = 18
"""Seconds that a model takes for its tests and infills, at most."""
COMPILING = 35
"""Seconds for code of another shape, at most."""


class Data(NamedTuple):
    """The examples of a run."""

    training: MaskedCorpus
    validation: MaskedCorpus
    test: MaskedCorpus


def models(setting: Setting) -> None:
    """All four, then the table."""
    began, options = time.monotonic(), setting.options
    mask = OneSpan(Granularity.SENTENCE) if options.masks == "sentence" else None
    usual = Data(
        setting.masked("train", options.copies), setting.masked("valid", 1), setting.sentences("test")
    )
    data = dict.fromkeys(ORDER, usual)
    if mask:
        sentences = setting.masked("train-sentence", 5, mask)
        data["ilm"] = usual._replace(training=sentences, validation=setting.sentences("valid"))
    tokens = options.tokens
    if not tokens:
        speed = _speed(setting, usual)
        left = options.seconds - (time.monotonic() - began) - len(ORDER) * AFTER - 2 * COMPILING
        tokens = 1000 * PILOT if options.small else speed * max(left, 40) / len(ORDER)
        setting.say(speed=round(speed), tokens=round(tokens), seconds_left=round(left))
    found = {}
    for strategy in ORDER:
        found[strategy] = _model(setting, strategy, data[strategy], tokens)
        paper = {one: PUBLISHED[Key("sentence", one, True, "stories")] for one in found}
        setting.say(table="sentence, stories, from scratch", ours=found, paper=paper)


def _plan(setting: Setting, strategy: str, steps: int) -> Plan:
    options = setting.options
    size = options.batch // (2 if strategy == "lm-all" else 1)
    return Plan(
        strategy,
        learning_rate=options.lr,
        warm_up=min(100, steps // 10),
        decay=True,
        weight_decay=0.1,
        batch=size,
        steps=steps,
        loss=options.loss if strategy in ("ilm", "lm-all") else "two-means",
        plain_rows=options.plain_rows if strategy == "ilm" else 0.0,
        patience=0,
        evaluate_every=max(10, 300 * 256 // size),
        precision="auto",
        compile=not options.no_compile,
    )


def _speed(setting: Setting, data: Data) -> float:
    """Tokens a second of LM; its compiled code serves later, too."""
    at: list[tuple[float, int]] = []
    plan = replace(_plan(setting, "lm", PILOT), evaluate_every=20, evaluation_examples=1)
    model = new_model(setting.architecture, setting.special, 0).to(setting.device)
    _trained(setting, plan, model, data, lambda line: at.append((time.monotonic(), line.tokens)))
    lines = at[-1], at[0]
    return (lines[0][1] - lines[1][1]) / (lines[0][0] - lines[1][0])


def _trained(setting: Setting, plan: Plan, model: Any, data: Data, report: Any, **more: Any) -> Any:
    """Train; without compiled code, if that fails."""
    given = (model, setting.tokenizer, data.training, data.validation)
    folder = setting.options.out / f"model-{plan.strategy}"
    try:
        return train(folder, plan, *given, keep=False, report=report, **more)
    except Exception as error:
        if not plan.compile:
            raise
        setting.say(failed=f"{plan.strategy} compiled", error=repr(error)[:500])
        return train(folder, replace(plan, compile=False), *given, keep=False, report=report, **more)


def _model(setting: Setting, strategy: str, data: Data, tokens: float) -> float:
    """Train and test one; its perplexity."""
    mean = data.training.lengths(strategy).mean()
    if strategy == "ilm" and setting.options.plain_rows:
        share = setting.options.plain_rows
        mean = (1 - share) * mean + share * data.training.lengths("lm").mean()
    size = _plan(setting, strategy, 100).batch
    plan = _plan(setting, strategy, max(20, round(tokens / (size * mean))))
    model = new_model(setting.architecture, setting.special, 0).to(setting.device)
    best: dict[str, Any] = {}

    def keep() -> None:
        best.update({name: value.detach().clone() for name, value in model.named_parameters()})

    def said(line: Report) -> None:
        if line.perplexity:
            setting.say(
                strategy=strategy,
                step=line.step,
                seconds=round(line.seconds, 1),
                tokens=line.tokens,
                loss=round(line.loss, 3),
                tokens_per_second=round(line.tokens_per_second),
                valid_mixture=round(line.perplexity, 2),
            )

    progress = _trained(setting, plan, model, data, said, better=keep)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(best[name])
    model.eval()
    found = perplexities(model, evaluation_batches(data.test, strategy, size=64))
    setting.say(
        strategy=strategy,
        loss=plan.loss,
        plain_rows=plan.plain_rows,
        masks=setting.options.masks if strategy == "ilm" else "hierarchical",
        sentence_perplexity=round(found.masked, 2),
        precision="fp32",
        examples=found.examples,
        masked_tokens=found.tokens,
        paper=PUBLISHED[Key("sentence", strategy, True, "stories")],
        best_valid_mixture=round(progress.best, 2),
        best_step=progress.best_step,
        steps=progress.step,
        tokens=progress.tokens,
        seconds=round(progress.seconds, 1),
        passes=round(progress.step * plan.batch / data.training.documents, 1),
        data=f"{data.training.documents} training stories; the paper had 97,828 and about a day a model",
    )
    _infill(setting, model, strategy)
    return round(found.masked, 2)


def _infill(setting: Setting, model: Any, strategy: str) -> None:
    """Infills of 500 blanks: 100 test stories, each sentence in turn. Cut by a simple rule, for reading
    only."""
    began = time.monotonic()
    blanks = [
        (story, number)
        for story in setting.stories["test"][: 2 if setting.options.small else 100]
        for number in range(5)
    ]
    prompts = [Prompt(prompt_of(setting, strategy, *blank), f"{blank[0].id} {blank[1]}") for blank in blanks]
    special = setting.special
    control = (id for id in range(special.size, special.total) if id != special.end)
    newline = setting.tokenizer.encode("\n", add_special_tokens=False).ids
    rules = Rules((special.end,), (*control, *newline))
    found = draw(model, prompts, rules, Sampling(longest=40), 0)
    path = setting.options.out / f"infills-{strategy}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for (story, number), (written,) in zip(blanks, found, strict=True):
            ids = written.ids
            text = setting.tokenizer.decode(ids[::-1] if strategy == "lm-rev" else ids)
            record = {"story": story.id, "position": number + 1, "infill": _sentence(text, strategy)}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    seconds = time.monotonic() - began
    setting.say(strategy=strategy, infills=len(blanks), seconds=round(seconds, 1), file=path.name)


def prompt_of(setting: Setting, strategy: str, story: Story, number: int) -> list[int]:
    def ids(text: str) -> list[int]:
        return list(setting.tokenizer.encode(text, add_special_tokens=False).ids)

    text = story_document(story).text
    start, end = story_document(story).paragraphs[1][1][number]
    before, after = ids(text[:start].removesuffix(" ")), ids(text[:end][-1:] and text[end:])
    special = setting.special
    blanked = [*before, special.blank(Granularity.SENTENCE), *after]
    return {
        "ilm": [*blanked, special.start],
        "lm": [special.start, *before],
        "lm-rev": [special.start, *after[::-1]],
        "lm-all": [*blanked, special.start, *before],
    }[strategy]


def _sentence(text: str, strategy: str) -> str:
    ends = [
        at + 1 for at, mark in enumerate(text) if mark in ".!?" and text[at + 1 : at + 2] in ("", " ", '"')
    ]
    if strategy == "ilm":
        return text.strip()
    if strategy == "lm-rev":
        inner = [at for at in ends if at < len(text.rstrip())]
        return text[inner[-1] if inner else 0 :].strip()
    return text[: ends[0] if ends else None].strip()
