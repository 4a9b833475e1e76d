"""SA as a generator: it reads the text with its blanks as words, and writes an answer for one blank after
another.

Blanks are filled from left to right, and the text is read again with each answer in it. An answer sees all
the text around it, including earlier answers; of later blanks it sees only that they are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from generators.devices import pick_device
from generators.options import read_options, refuse_unless
from generators.sampling.filling import UNENDED, Draft, Filler, ModelGenerator, Shared
from generators.self_attention.casing import detokenise, truecase
from generators.self_attention.template import SEGMENT, Template, template_of
from generators.self_attention.vocabulary import words_of
from humaneval.domain import Drawing, GappedText, Generator, GeneratorRequest, InfillStatus, Provenance
from humaneval.errors import PrerequisiteError, UsageError
from humaneval.text import command, sentence_spans

if TYPE_CHECKING:
    from generators.self_attention.beam_search import Answer
    from generators.self_attention.checkpoint import Opened


@dataclass(frozen=True, slots=True)
class Options:
    """The options of SA. `decoding`: beam (with `beam` beams, as in the paper), greedy, or sampled from the
    nucleus."""

    decoding: str = "beam"
    beam: int = 2
    longest: int = 64
    """The most words of an answer; its end counts as one."""
    temperature: float = 1.0
    top_p: float = 0.95

    def __post_init__(self) -> None:
        refuse_unless(self.decoding in ("beam", "greedy", "sampled"), "decoding", "beam, greedy or sampled")
        refuse_unless(1 <= self.beam <= 64, "beam", "1 to 64")
        refuse_unless(1 <= self.longest <= 200, "longest", "1 to 200")
        refuse_unless(0.001 <= self.temperature <= 100, "temperature", "0.001 to 100")
        refuse_unless(0 < self.top_p <= 1, "top_p", "above 0, to 1")


@dataclass(frozen=True, slots=True)
class SelfAttentionFiller:
    """A Filler over a checkpoint of SA. It was trained on sentences, so it fills only these."""

    checkpoint: Opened
    folder: str
    seed: int
    options: Options
    types: tuple[str, ...] = ("sentence",)
    several: bool = False
    titled: bool = False
    needs_original: bool = False

    @property
    def origin(self) -> Provenance:
        import torch

        return Provenance(
            kind="sa",
            checkpoint=f"{Path(self.folder).name} sha256:{self.checkpoint.hash}",
            settings={
                **asdict(self.options),
                "order": "one blank after the other, the text read anew with each answer",
                "training": self.checkpoint.card.training,
            },
            batch={"device": str(self.checkpoint.model.device), "precision": "fp32"},
            versions={"torch": torch.__version__},
        )

    def drawing(self, how: Drawing) -> SelfAttentionFiller:
        options = Options(
            "sampled",
            longest=how.longest or self.options.longest,
            temperature=how.temperature,
            top_p=how.nucleus,
        )
        return replace(self, options=options, seed=how.seed)

    def draft(self, texts: Sequence[GappedText], keys: Sequence[str]) -> list[list[Draft]]:
        """A draft for the first gap of each text; refused if a piece of the text is longer than a segment."""
        from generators.self_attention.beam_search import Chance, write

        read = self.checkpoint.vocabulary.read
        templates = [template_of([read(piece) for piece in text.pieces]) for text in texts]
        fitting = [at for at, one in enumerate(templates) if max(one.offsets) < SEGMENT]
        begun = [_words(texts[at].gaps[0].beginning) for at in fitting]
        options, chance = self.options, None
        if options.decoding == "sampled":
            streams = [keys[at] for at in fitting]
            chance = Chance(options.temperature, options.top_p, self.seed, streams)
        answers = write(
            self.checkpoint.model,
            [templates[at] for at in fitting],
            [self.checkpoint.vocabulary.ids(words) for words in begun],
            beams=options.beam if options.decoding == "beam" else 1,
            longest=options.longest,
            chance=chance,
        )
        drafts = [[_refused(one)] for one in templates]
        for at, words, answer in zip(fitting, begun, answers, strict=True):
            drafts[at] = [self._draft(words, answer)]
        return drafts

    def _draft(self, beginning: Sequence[str], answer: Answer) -> Draft:
        """The answer as people write it; its given beginning stays as it is."""
        vocabulary = self.checkpoint.vocabulary
        rest = [vocabulary.word(id) for id in answer.ids[len(beginning) :]]
        words = [*(word.lower() for word in beginning), *rest]
        cased = [*beginning, *truecase(words, vocabulary.cases)[len(beginning) :]]
        extra = {"words": len(words), "logprob": round(answer.logprob, 4), "repeats": repeats(words)}
        if answer.ended:
            return Draft(detokenise(cased), extra=extra)
        return Draft(detokenise(cased), InfillStatus.CUT, UNENDED, extra)


def repeats(words: Sequence[str]) -> bool:
    """Whether three words in a row occur twice.

    >>> repeats("he ran and he ran and".split()), repeats("he ran and she ran".split())
    (True, False)
    """
    triples = list(zip(words[:-2], words[1:-1], words[2:], strict=True))
    return len(set(triples)) < len(triples)


def _words(text: str) -> list[str]:
    return words_of(text, sentence_spans(text))


def _refused(template: Template) -> Draft:
    count = max(template.offsets)
    return Draft(
        "", InfillStatus.REFUSED, f"{count} words in a piece of the text, more than {SEGMENT - 1} fit"
    )


def build(request: GeneratorRequest) -> Sequence[Generator]:
    """Options: those of `Options` and of `generators.sampling.filling.Shared`."""
    shared = read_options(request, Shared, Options)
    options = read_options(request, Options, Shared)
    if shared.tries > 1 and options.decoding != "sampled":
        raise UsageError(
            f"with {options.decoding} decoding, sa writes the same at every try",
            "Use --option decoding=sampled, or leave out `tries`.",
        )
    if not request.checkpoint:
        raise UsageError(
            "sa needs a checkpoint",
            f"Train one with `{command('train', 'sa', '--out', 'FOLDER')}` and name FOLDER: --checkpoint.",
        )
    try:
        from generators.self_attention.checkpoint import load

        device = pick_device(request.device)
    except ModuleNotFoundError as error:
        raise PrerequisiteError(
            f"sa needs the package {error.name}", "pip install 'humaneval-toolkit[models]'"
        ) from None
    opened = load(Path(request.checkpoint), device)
    filler: Filler = SelfAttentionFiller(opened, request.checkpoint, request.seed, options)
    return [ModelGenerator(request.name or "sa", filler, request.seed, shared)]
