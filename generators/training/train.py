"""The verb `train`: a model from scratch or from a pre-trained one; killed at any point, the same command
goes on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from generators.training.bert_run import bert
from generators.training.options import options
from generators.training.plan import PRESETS, Architecture, Plan, Report, readable
from generators.training.train_sa import sa
from humaneval.errors import PrerequisiteError, UsageError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel

    from generators.checkpoints.sequences import SpecialIds
    from generators.masks.hierarchical import MaskFunction
    from generators.training.corpus import Texts
    from generators.training.examples import MaskedCorpus

EXAMPLES, CURVES = "examples", "curves.png"


@click.group()
def train() -> None:
    """Train a model to fill in blanks: ilm, lm, lm-rev, lm-all, sa or bert.

    Started by torchrun (`torchrun --nproc-per-node 2 -m humaneval train …`), the processes share every step.
    """


@train.command()
@options
def ilm(**given: Any) -> None:
    """Infilling by language modelling: the text with its blanks, then what belongs there."""
    _train("ilm", given)


@train.command()
@options
def lm(**given: Any) -> None:
    """A left-to-right language model: sees what stands before a blank."""
    _train("lm", given)


@train.command("lm-rev")
@options
def lm_rev(**given: Any) -> None:
    """A right-to-left language model: sees what stands behind a blank."""
    _train("lm-rev", given)


@train.command("lm-all")
@options
def lm_all(**given: Any) -> None:
    """The text with its blanks, then the whole text again."""
    _train("lm-all", given)


train.add_command(bert)
train.add_command(sa)


def _train(strategy: str, given: dict[str, Any]) -> None:
    try:
        from generators.devices import pick_device
        from generators.training.state import held

        device = pick_device(given["device"])
    except ModuleNotFoundError as error:
        raise PrerequisiteError(
            f"training needs the package {error.name}", "pip install 'humaneval-toolkit[models]'"
        ) from None
    if bool(given["base"]) == given["from_scratch"]:
        raise UsageError(
            "say what to start from",
            "--from-scratch, or --from NAME: gpt2 as in the paper, or a local folder.",
        )
    first, device = _join(device)
    with held(given["out"]) if first else nullcontext():
        _run(strategy, given, device, first=first)


def _run(strategy: str, given: dict[str, Any], device: str, *, first: bool) -> None:
    from generators.masks.hierarchical import load_mask
    from generators.training.causal_run import train as run

    corpus = corpus_name(given)
    chosen = {**PRESETS[given["preset"] or ("stories" if corpus == "texts" else corpus)]}
    chosen |= {name: value for name, value in given.items() if value is not None}
    chosen["context_loss"] = given["context_loss"] == "on"
    plan = Plan(strategy, **{f.name: chosen[f.name] for f in fields(Plan) if f.name in chosen})
    mask = load_mask(given["mask"], parity=given["parity"])
    training, validation = given_texts(given, corpus)
    model, tokenizer, special, origin = _model(given, chosen, training, mask)
    model.to(device)  # type: ignore[arg-type]  # transformers wraps it and loses its types
    examples, held_out = (
        _examples(given, split, texts, tokenizer, special, mask, copies)
        for split, texts, copies in (("train", training, given["copies"]), ("valid", validation, 1))
    )
    if first:
        _say(strategy, training, validation, examples, special, model, device)
    with training_bar(strategy, shown=first) as show:
        progress = run(
            given["out"],
            plan,
            model,
            tokenizer,
            examples,
            held_out,
            mask=mask.name,
            name=corpus,
            origin=origin,
            report=show,
        )
    if not first:
        return
    plot(given["out"], strategy)
    found = {
        "kind": strategy,
        "checkpoint": str(given["out"]),
        "steps": progress.step,
        "tokens": progress.tokens,
        "seconds": round(progress.seconds, 1),
        "masked_perplexity": progress.best,
        "best_step": progress.best_step,
        "stopped_by_patience": plan.impatient(progress),
        "left_out": {**training.left_out, **examples.left_out},
    }
    if given["as_json"]:
        click.echo(json.dumps(found))
        return
    early = (
        f"; stopped after {progress.bad_evaluations} evaluations without a better one"
        if plan.impatient(progress)
        else ""
    )
    click.echo(
        f"{progress.step} steps, {progress.tokens:,} tokens in {progress.seconds / 60:.1f} min{early}; "
        f"masked text has perplexity {readable(progress.best)} at step {progress.best_step}: {given['out']}"
    )


def _join(device: str) -> tuple[bool, str]:
    """Join the processes that torchrun started, if it did. Whether this is the first of them, and its
    device."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return True, device
    import torch
    from torch import distributed

    if not distributed.is_initialized():
        distributed.init_process_group("nccl" if "cuda" in device else "gloo")
    if "cuda" in device:
        device = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(device)
    return distributed.get_rank() == 0, device


def corpus_name(given: dict[str, Any]) -> str:
    sources = [name for name in ("stories", "bundled", "documents") if given[name]]
    if len(sources) != 1:
        raise UsageError(
            "name what to train on", "--stories FILE, --documents FOLDER or --bundled, and one of these only."
        )
    if sources[0] == "documents":
        if given["valid"]:
            raise UsageError("--valid goes with --stories", "A folder has its own valid.txt.")
        return given["corpus"] or "texts"
    if given["corpus"]:
        raise UsageError("--corpus goes with --documents", "--stories and --bundled are stories.")
    return "stories"


def given_texts(given: dict[str, Any], corpus: str) -> tuple[Texts, Texts]:
    from generators.training.corpus import bundled_texts, folder_texts, held_out, story_texts

    if given["bundled"]:
        return bundled_texts("train"), bundled_texts("valid")
    if given["documents"]:
        folder, skip = given["documents"], given["skip_bad"]
        return (
            folder_texts(folder, "train", corpus, skip_bad=skip),
            folder_texts(folder, "valid", corpus, skip_bad=skip),
        )
    stories = story_texts(given["stories"], skip_bad=given["skip_bad"])
    if given["valid"]:
        return stories, story_texts(given["valid"], skip_bad=given["skip_bad"])
    return held_out(stories)


def _model(
    given: dict[str, Any], chosen: dict[str, Any], training: Texts, mask: MaskFunction
) -> tuple[PreTrainedModel, Tokenizer, SpecialIds, dict[str, Any]]:
    from generators.checkpoints.pretrained import open_base
    from generators.checkpoints.sequences import SpecialIds
    from generators.training.causal_run import new_model, set_dropout
    from generators.training.corpus import train_tokenizer

    if given["base"]:
        wrong = [name for name in ("layers", "width", "heads", "vocabulary") if given[name] is not None]
        if wrong:
            raise UsageError(f"--{wrong[0]} goes with --from-scratch", f"{given['base']} has its own.")
        own = Path(given["tokenizer"]) if given["tokenizer"] else None
        base = open_base(given["base"], blanks=mask.types, seed=given["seed"], tokenizer=own)
        set_dropout(base.model, given["dropout"], given["attention_dropout"])
        return base.model, base.tokenizer, base.special, base.origin
    if given["vocabulary"] and given["tokenizer"]:
        raise UsageError("--vocabulary and --tokenizer exclude each other", "Name one.")
    size = given["vocabulary"] or (None if given["tokenizer"] else chosen.get("vocabulary"))
    if size:
        tokenizer = train_tokenizer((document.text for document in training.documents), size)
    else:
        tokenizer = _found_tokenizer(given["tokenizer"])
    special = SpecialIds(tokenizer.get_vocab_size(), tuple(mask.types))
    architecture = Architecture(**{f.name: chosen[f.name] for f in fields(Architecture) if f.name in chosen})
    return new_model(architecture, special, given["seed"]), tokenizer, special, {"from": "scratch"}


def _found_tokenizer(name: str | None) -> Tokenizer:
    from generators.checkpoints.pretrained import find_tokenizer
    from humaneval.errors import InputError

    if name:
        return find_tokenizer(name)
    try:
        return find_tokenizer("gpt2")
    except InputError as error:
        raise InputError(
            f"the tokenizer of the paper's models is not at hand: {error.message}",
            "Name a file with --tokenizer, or have a vocabulary made from the corpus: --vocabulary 8000.",
        ) from None


def _examples(
    given: dict[str, Any],
    split: str,
    texts: Texts,
    tokenizer: Tokenizer,
    special: SpecialIds,
    mask: MaskFunction,
    copies: int,
) -> MaskedCorpus:
    """The masked examples of a split, kept beside the checkpoint: a run that goes on opens those that it
    has."""
    from generators.checkpoints.folder import probe
    from generators.training.examples import CHUNK, kept_corpus, mask_corpus, nothing_left

    settings = [
        mask.name,
        given["parity"],
        copies,
        given["seed"],
        given["empty_masks"],
        special,
        probe(tokenizer),
    ]
    key = hashlib.sha256(json.dumps(settings).encode())
    for document in texts.documents:
        key.update(document.text.encode() + b"\0")

    def make() -> MaskedCorpus:
        chunks = -(-len(texts.documents) // CHUNK)
        return mask_corpus(
            texts.documents,
            tokenizer,
            special,
            mask,
            copies=copies,
            seed=given["seed"],
            allow_empty=given["empty_masks"] == "on",
            workers=min(os.cpu_count() or 1, chunks // 4) or 1,
        )

    corpus = kept_corpus(given["out"] / EXAMPLES / split, key.hexdigest(), make)
    if not corpus.examples:
        raise nothing_left(
            f"none of the {len(texts.documents)} documents of {texts.source} can be used", corpus
        )
    return corpus


def _say(
    strategy: str,
    training: Texts,
    validation: Texts,
    examples: MaskedCorpus,
    special: SpecialIds,
    model: PreTrainedModel,
    device: str,
) -> None:
    parameters = sum(parameter.numel() for parameter in model.parameters())
    click.echo(
        f"{strategy}: {examples.documents:,} documents in {examples.examples:,} masked examples, "
        f"{len(validation.documents):,} documents for validation, {special.size:,} tokens, "
        f"{parameters / 1e6:.1f} M parameters on {device}",
        err=True,
    )
    for cause, count in {**training.left_out, **examples.left_out}.items():
        click.echo(f"{training.source}: {count:,} {cause}", err=True)


def plot(folder: Path, strategy: str) -> None:
    from generators.training.curves import plot_curves
    from generators.training.state import LOG, read_log

    if (folder / LOG).exists():
        plot_curves({strategy: read_log(folder)}, folder / CURVES)


def training_bar(kind: str, *, shown: bool) -> Any:
    """A bar on stderr with loss, tokens a second and time left; silent when piped."""
    from contextlib import contextmanager

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    @contextmanager
    def bar() -> Any:
        console = Console(stderr=True)
        if not shown or not console.is_terminal:
            yield lambda line: None
            return
        columns = (
            TextColumn(f"Training {kind}"),
            BarColumn(),
            TextColumn("{task.percentage:.0f} %"),
            TextColumn("{task.fields[words]}"),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=console, transient=True) as bar:
            yield _shown_by(bar, bar.add_task("", total=1.0, words=""))

    return bar()


def _shown_by(bar: Any, task: Any) -> Callable[[Report], None]:
    perplexity = ""

    def show(line: Report) -> None:
        nonlocal perplexity
        if line.perplexity is not None:
            perplexity = f", perplexity {readable(line.perplexity)}"
        left = f", {line.seconds * (1 / line.fraction - 1) / 60:.1f} min left" if line.fraction else ""
        bar.update(
            task,
            completed=line.fraction,
            words=f"loss {line.loss:.2f}{perplexity}, {line.tokens_per_second:,.0f} tokens/s{left}",
        )

    return show
