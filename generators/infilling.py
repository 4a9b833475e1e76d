"""What the generators from our own checkpoints share: prompts, what must not be drawn, and answers as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from generators.checkpoints import Checkpoint, load
from generators.decoding import Answer, Prompt, Rules, Sampling, Stop, Written, draw
from generators.devices import pick_device
from generators.filling import Draft, ModelGenerator, Shared
from generators.options import read_options, refuse_unless
from generators.vocabulary import line_ends
from generators.weights import positions
from humaneval.domain import Gap, GappedText, GeneratorRequest, InfillStatus, Provenance
from humaneval.errors import UsageError
from humaneval.text import split_sentences

SENTENCE_ENDS = ".!?…"
CLOSING = "\"'”’)]"


@dataclass(frozen=True, slots=True)
class Decoding(Sampling):
    """The options of our own models."""

    precision: str = "fp32"
    """fp32 or bf16."""

    def __post_init__(self) -> None:
        Sampling.__post_init__(self)
        refuse_unless(self.precision in ("fp32", "bf16"), "precision", "fp32 or bf16")


class CheckpointFiller:
    """A filler over one of our checkpoints; a strategy is a class that says what it reads and how it writes."""

    kind: ClassVar[str]
    conditioning: ClassVar[str]
    """What it sees and in which order it fills, for who reads the provenance."""
    several: ClassVar[bool] = False
    titled: ClassVar[bool] = True
    needs_original: ClassVar[bool] = False

    def __init__(self, checkpoint: Checkpoint, folder: Path, seed: int, decoding: Decoding) -> None:
        import torch

        self.checkpoint, self.folder, self.seed, self.decoding = checkpoint, folder, seed, decoding
        if decoding.precision == "bf16":
            torch.nn.Module.to(checkpoint.model, torch.bfloat16)
        special, self.tokenizer = checkpoint.special, checkpoint.tokenizer
        lines = tuple(line_ends(self.tokenizer))
        ends = self.ends(lines)
        control = (id for id in range(special.size, special.total) if id not in ends)
        self.rules = Rules(
            ends=ends,
            forbidden=(*control, *checkpoint.unread),
            line_ends=tuple(id for id in lines if id not in ends),
            stop=self.stop_rule(),
            count=lambda ids: len(self.decode(ids).split()),
        )

    @property
    def types(self) -> tuple[str, ...]:
        """The types of gaps that it can fill."""
        return ("sentence",)

    @property
    def origin(self) -> Provenance:
        """Where its answers come from."""
        import torch
        import transformers

        settings = asdict(self.decoding)
        precision = settings.pop("precision")
        training = self.checkpoint.card.training
        return Provenance(
            kind=self.kind,
            checkpoint=f"{self.folder.resolve().name} sha256:{self.checkpoint.hash}",
            settings={**settings, "conditioning": self.conditioning, "training": training},
            batch={"device": str(self.checkpoint.model.device), "precision": precision},
            versions={"torch": torch.__version__, "transformers": transformers.__version__},
        )

    def draft(self, texts: Sequence[GappedText], keys: Sequence[str]) -> list[list[Draft]]:
        """A draft for each gap that is filled now; refused where the model cannot read so long a text."""
        most = positions(self.checkpoint.model)
        prompts = [
            Prompt(
                self.prompt(text),
                key,
                tuple(self.answer(text, number) for number in range(len(self.gaps(text)))),
            )
            for text, key in zip(texts, keys, strict=True)
        ]
        fits = [at for at, prompt in enumerate(prompts) if len(prompt.ids) < most]
        drawn = draw(
            self.checkpoint.model, [prompts[at] for at in fits], self.rules, self.decoding, self.seed
        )
        found = dict(zip(fits, drawn, strict=True))
        return [
            [
                self._draft(gap, found[at][number] if number < len(found[at]) else None)
                if at in found
                else too_long(len(prompts[at].ids), most)
                for number, gap in enumerate(self.gaps(text))
            ]
            for at, text in enumerate(texts)
        ]

    def _draft(self, gap: Gap, written: Written | None) -> Draft:
        if written is None:
            return Draft("", InfillStatus.MISSING, "the model reads no more tokens")
        text, tokens = self.read(written, gap)
        extra = {"tokens": tokens, "logprob": round(sum(written.logprobs[:tokens]), 4)}
        if written.ended:
            extra["logprob"] = round(sum(written.logprobs[: tokens + 1]), 4)
        whole = text.rstrip(CLOSING).endswith(tuple(SENTENCE_ENDS))
        if written.held and gap.type not in ("word", "ngram") and not whole:
            return Draft(text, InfillStatus.CUT, f"held to {gap.max_words} words", extra)
        if not (written.ended or written.held) and not self.complete(written):
            return Draft(text, InfillStatus.CUT, "no end within the longest length", extra)
        return Draft(text, extra=extra)

    def encode(self, text: str) -> list[int]:
        """Ids of a text; control strings in it are text."""
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids."""
        return self.tokenizer.decode(list(ids))

    # What a strategy says of itself.

    def gaps(self, text: GappedText) -> tuple[Gap, ...]:
        """The gaps that a prompt asks for."""
        return text.gaps if self.several else text.gaps[:1]

    def ends(self, line_ends: tuple[int, ...]) -> tuple[int, ...]:
        """Ids that end an answer."""
        return (self.checkpoint.special.end,)

    def stop_rule(self) -> Stop | None:
        """When an answer is finished without an end token."""
        return None

    def prompt(self, text: GappedText) -> list[int]:
        """What the model reads before it writes."""
        raise NotImplementedError

    def answer(self, text: GappedText, number: int) -> Answer:
        """What the answer to gap `number` has to keep to."""
        gap = text.gaps[number]
        space = " " if text.pieces[number].endswith(" ") else ""
        forced = self.encode(space + gap.beginning) if gap.beginning else []
        most = gap.max_words or (1 if gap.type == "word" else 0)
        return Answer(tuple(forced), gap.type in ("paragraph", "document"), gap.min_words, most)

    def read(self, written: Written, gap: Gap) -> tuple[str, int]:
        """The answer as text, and how many of the tokens it is."""
        return self.decode(written.ids), len(written.ids)

    def complete(self, written: Written) -> bool:
        """Whether what was not ended is whole all the same."""
        return False


def too_long(tokens: int, most: int) -> Draft:
    """The draft for a text that the model cannot read."""
    return Draft(
        "", InfillStatus.REFUSED, f"the text has {tokens:,} tokens, and the model reads at most {most:,}"
    )


def first_sentence(text: str) -> tuple[str, bool]:
    """The first sentence of a text, and whether another one follows: only then is it known to be whole."""
    sentences = split_sentences(text)
    return (sentences[0] if sentences else "", len(sentences) > 1)


def open_filler(
    request: GeneratorRequest, strategy: type[CheckpointFiller]
) -> tuple[CheckpointFiller, Shared]:
    """The filler of a request, and the options that all models share."""
    kind = strategy.kind
    if not request.checkpoint:
        raise UsageError(
            f"{kind} needs a checkpoint",
            f"Train one with `humaneval train {kind}`, then name its folder with --checkpoint.",
        )
    shared, decoding = read_options(request, Shared, Decoding)
    folder = Path(request.checkpoint)
    checkpoint = load(folder, kind=kind, device=pick_device(request.device))
    return strategy(checkpoint, folder, request.seed, decoding), shared


def build_from(request: GeneratorRequest, strategy: type[CheckpointFiller]) -> Sequence[ModelGenerator]:
    """The generator of a request."""
    filler, shared = open_filler(request, strategy)
    return [ModelGenerator(request.name or strategy.kind, filler, request.seed, shared)]
