"""What the generators from our own checkpoints share: prompts in batches, more tries where an infill is not one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from generators.checkpoints import Checkpoint, load
from generators.decoding import Drawn, Prompt, Sampling, Stop, draw
from generators.documents import UNTITLED
from generators.vocabulary import line_ends
from humaneval.domain import Blank, GeneratorRequest, Infill, InfillStatus, Provenance
from humaneval.errors import UsageError
from humaneval.text import normalise, refused_characters, split_sentences

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BATCH = 32


class Draft(NamedTuple):
    """What a draw became as text; `status` is OK where there is nothing against it."""

    text: str
    status: InfillStatus
    detail: str = ""


PromptOf = Callable[[Blank, Checkpoint], list[int]]
TextOf = Callable[[Drawn, "Tokenizer"], Draft]
StopFor = Callable[["Tokenizer"], Stop]


@dataclass(frozen=True, slots=True)
class Options:
    """What can be chosen with `--option`. `tries`: draws at most until an infill is one whole sentence."""

    temperature: float = 1.0
    top_p: float = 0.95
    longest: int = 64
    tries: int = 1

    @classmethod
    def read(cls, given: dict[str, str]) -> Options:
        """Options from text. UsageError names what is unknown or out of range."""
        unknown = set(given) - {"temperature", "top_p", "longest", "tries"}
        if unknown:
            raise UsageError(
                f"unknown option {', '.join(sorted(unknown))}", "Options: temperature, top_p, longest, tries."
            )
        try:
            options = cls(
                temperature=float(given.get("temperature", 1.0)),
                top_p=float(given.get("top_p", 0.95)),
                longest=int(given.get("longest", 64)),
                tries=int(given.get("tries", 1)),
            )
        except ValueError as error:
            raise UsageError(f"an option is not a number: {error}") from None
        if not (
            options.temperature > 0
            and 0 < options.top_p <= 1
            and 1 <= options.longest <= 200
            and 1 <= options.tries <= 100
        ):
            raise UsageError(
                "an option is out of range",
                "temperature > 0, 0 < top_p <= 1, longest 1 to 200, tries 1 to 100.",
            )
        return options


@dataclass(frozen=True, slots=True)
class CheckpointGenerator:
    """A generator over one of our checkpoints; `prompt_of` and `text_of` are what the kinds differ in."""

    name: str
    checkpoint: Checkpoint
    folder: str
    seed: int
    options: Options
    prompt_of: PromptOf
    text_of: TextOf
    stop_for: StopFor | None = None

    @property
    def provenance(self) -> Provenance:
        import torch
        import transformers

        return Provenance(
            kind=self.checkpoint.card.kind,
            checkpoint=f"{Path(self.folder).name} sha256:{self.checkpoint.hash}",
            seed=self.seed,
            settings={**asdict(self.options), "training": self.checkpoint.card.training},
            batch={"size": BATCH, "device": str(self.checkpoint.model.device), "precision": "fp32"},
            versions={"torch": torch.__version__, "transformers": transformers.__version__},
        )

    def infill(self, blanks: Iterable[Blank]) -> Iterator[Infill]:
        remaining = iter(blanks)
        while batch := list(islice(remaining, BATCH)):
            yield from self._fill(batch)

    def _fill(self, blanks: Sequence[Blank]) -> list[Infill]:
        tokenizer, special = self.checkpoint.tokenizer, self.checkpoint.special
        forbidden = [id for id in range(special.size, special.total) if id != special.end]
        forbidden += [*self.checkpoint.unread, *line_ends(tokenizer)]
        sampling = Sampling(self.options.temperature, self.options.top_p, self.options.longest)
        stop = self.stop_for(tokenizer) if self.stop_for else None
        prompts = [self.prompt_of(blank, self.checkpoint) for blank in blanks]
        infills: list[Infill | None] = [None] * len(blanks)
        waiting = list(range(len(blanks)))
        for attempt in range(1, self.options.tries + 1):
            rows = [Prompt(prompts[at], _key(blanks[at], attempt)) for at in waiting]
            results = draw(
                self.checkpoint.model,
                rows,
                sampling=sampling,
                seed=self.seed,
                end=special.end,
                forbidden=forbidden,
                stop=stop,
            )
            unfit = []
            for at, drawn in zip(waiting, results, strict=True):
                draft = self.text_of(drawn, tokenizer)
                extra = {"tries": attempt, "tokens": len(drawn.ids)}
                infills[at] = Infill(blanks[at], draft.text, draft.status, draft.detail, extra)
                if draft.status is not InfillStatus.OK:
                    unfit.append(at)
            waiting = unfit
            if not waiting:
                break
        return [infill for infill in infills if infill is not None]


def _key(blank: Blank, attempt: int) -> str:
    return f"{blank.story.id} {blank.position} {blank.sample} {attempt}"


def open_checkpoint(request: GeneratorRequest, kind: str) -> tuple[Checkpoint, Options]:
    """The checkpoint and the options of a request."""
    if not request.checkpoint:
        raise UsageError(
            f"{kind} needs a checkpoint",
            f"Train one with `humaneval train {kind}`, then name its folder with --checkpoint.",
        )
    options = Options.read(dict(request.options))
    return load(Path(request.checkpoint), kind=kind, device=pick_device(request.device)), options


def pick_device(name: str) -> str:
    """`auto` is the GPU where there is one."""
    import torch

    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise UsageError(f"there is no GPU for --device {name}", "Use --device cpu.")
    try:
        torch.device(name)
    except RuntimeError:
        raise UsageError(f"there is no device {name}", "Say auto, cpu or cuda.") from None
    return name


def before(blank: Blank) -> str:
    """The document up to the blank: the title's line, then the sentences before it."""
    title = blank.story.title or UNTITLED
    return f"{title}\n" + " ".join(blank.story.sentences[: blank.position - 1])


def after(blank: Blank) -> str:
    """The document behind the blank, with the space that leads it."""
    return "".join(f" {sentence}" for sentence in blank.story.sentences[blank.position :])


def unprintable(text: str) -> str:
    """Why `text` cannot be shown, or nothing: bytes that make no character, or characters that no page can carry."""
    if "\ufffd" in text:
        return "bytes that make no character"
    return refused_characters(text)


def one_sentence(text: str) -> Draft:
    """`text` as an infill: OK only as one sentence."""
    text = normalise(text)
    broken = unprintable(text)
    if broken:
        return Draft("", InfillStatus.UNPRINTABLE, broken)
    if not text:
        return Draft("", InfillStatus.EMPTY)
    sentences = split_sentences(text)
    if len(sentences) > 1:
        return Draft(text, InfillStatus.SEVERAL_SENTENCES, f"{len(sentences)} sentences")
    return Draft(text, InfillStatus.OK)
