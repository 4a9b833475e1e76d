"""Fill in the middle: language models that were trained to write what is missing between a beginning and an
end.

Such a model reads the text before the gap and the text after it, each after a control token, then writes what
is between them (Bavarian et al. 2022, arXiv:2207.14255). Each family of models has its own control tokens.
Prompts are put together from ids, never from strings, so that a story cannot contain a control token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from generators.causal.causal_lm import CausalLM, open_causal_lm
from generators.causal.writer import (
    Decoding,
    Reading,
    Writer,
    first_sentence,
    read_first_sentence,
    second_begun,
)
from generators.devices import pick_device
from generators.options import read_options, refuse_unless
from generators.sampling.decoding import Rules, Stop, Written
from generators.sampling.filling import Draft, ModelGenerator, Shared
from generators.sampling.trimming import before_repetition
from humaneval.domain import Gap, GappedText, Generator, GeneratorRequest, InfillStatus, Provenance
from humaneval.errors import InputError, UsageError

EXAMPLE = "bigcode/starcoder2-3b"
LAYOUTS = {
    "psm": "the text before the gap, the text behind it, then the answer",
    "spm": "the text behind the gap, the text before it, then the answer",
    "mask": "the text with a mask for the gap and another at its end, then the first mask and the answer",
}


class Family(NamedTuple):
    """The control tokens of models that were trained alike.

    psm: prefix BEFORE suffix AFTER middle. spm: prefix suffix AFTER middle BEFORE; without a token for the
    middle, suffix AFTER prefix BEFORE. mask: BEFORE prefix AFTER suffix prefix.
    """

    prefix: str
    suffix: str
    middle: str
    layout: str = "psm"
    ends: tuple[str, ...] = ()
    """Further tokens that end an answer, besides these and the end tokens that the model's files name."""


FAMILIES = {
    "StarCoder": Family(
        "<fim_prefix>",
        "<fim_suffix>",
        "<fim_middle>",
        ends=(
            "<|endoftext|>",
            "<|end_of_text|>",
            "<fim_pad>",
            "<file_sep>",
            "<filename>",
            "<reponame>",
            "<repo_name>",
        ),
    ),
    "SantaCoder": Family("<fim-prefix>", "<fim-suffix>", "<fim-middle>", ends=("<|endoftext|>", "<fim-pad>")),
    "Qwen2.5-Coder, CodeGemma": Family(
        "<|fim_prefix|>",
        "<|fim_suffix|>",
        "<|fim_middle|>",
        ends=(
            "<|endoftext|>",
            "<|fim_pad|>",
            "<|file_sep|>",
            "<|repo_name|>",
            "<|im_end|>",
            "<|file_separator|>",
            "<eos>",
        ),
    ),
    "DeepSeek-Coder": Family(
        "<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>", ends=("<｜end▁of▁sentence｜>", "<|EOT|>")
    ),
    "Code Llama": Family("▁<PRE>", "▁<SUF>", "▁<MID>", ends=("▁<EOT>", "</s>")),
    "Codestral": Family("[PREFIX]", "[SUFFIX]", "", "spm", ends=("[MIDDLE]", "</s>")),
    "InCoder": Family("<|mask:0|>", "<|mask:1|>", "", "mask", ends=("<|endofmask|>", "<|endoftext|>")),
}
"""The first family whose tokens are in the vocabulary is used."""


@dataclass(frozen=True, slots=True)
class Options(Decoding):
    """The control tokens, if those of the model are not in `FAMILIES`, and the layout of the prompt."""

    prefix: str = ""
    suffix: str = ""
    middle: str = ""
    layout: str = ""

    def __post_init__(self) -> None:
        Decoding.__post_init__(self)
        refuse_unless(self.layout in ("", *LAYOUTS), "layout", "psm, spm or mask")
        if bool(self.prefix) != bool(self.suffix) or (self.middle and not self.prefix):
            raise UsageError(
                "the options prefix, suffix and middle belong together",
                "Give all control tokens of the model, or none of them.",
            )


class Fim(Writer):
    """Fills gaps with a fill-in-the-middle model; the answer is the first sentence that it writes."""

    kind = "fim"
    conditioning = "all text on both sides; several blanks from left to right, those to come left out"
    titled = False

    def __init__(self, opened: CausalLM, seed: int, options: Options) -> None:
        super().__init__(opened.model, opened.tokenizer, seed, options)
        self.opened = opened
        self.family = family_of(opened, options)
        self.tokens = {name: opened.ids[name] for name in self.family[:3] if name}
        ends = {name: opened.ids[name] for name in self.family.ends if name in opened.ids} | self.tokens
        _refuse_typed(opened, ends)
        self.signals = tuple(ends)
        ids = tuple(dict.fromkeys((*opened.ends, *ends.values())))
        self._rules = Rules(
            ends=ids,
            forbidden=tuple(sorted(opened.unwritten() - {*ids})),
            line_ends=tuple(id for id in opened.line_ends() if id not in ids),
            stop=self.stop_rule(),
            count=lambda ids: len(self.decode(ids).split()),
        )

    @property
    def rules(self) -> Rules:
        return self._rules

    @property
    def origin(self) -> Provenance:
        opened, family = self.opened, self.family
        return self.made_by(
            f"{opened.name} sha256:{opened.sha256}",
            prefix=family.prefix,
            suffix=family.suffix,
            middle=family.middle,
            layout=family.layout,
            reads=LAYOUTS[family.layout],
            begins=list(opened.begins),
            ends=list(self.rules.ends),
        )

    def prompt(self, text: GappedText) -> list[int]:
        """The ids of both sides and the control tokens. The space before the gap is part of the answer."""
        prefix, suffix, *middle = self.tokens.values()
        before = self.opened.read(text.pieces[0].rstrip(" "))
        behind = self.opened.read(_behind(text), inside=True)
        if self.family.layout == "mask":
            ids = [*before, prefix, *behind, suffix, prefix]
        elif self.family.layout == "psm":
            ids = [prefix, *before, suffix, *behind, *middle]
        elif middle:
            ids = [prefix, suffix, *behind, *middle, *before]
        else:
            ids = [suffix, *behind, prefix, *before]
        return [*self.opened.begins, *ids]

    def draft(self, texts: Sequence[GappedText], keys: Sequence[str]) -> list[list[Draft]]:
        """Drafts without repetitions of the text after the gap, and without control tokens that are spelt
        out."""
        return [
            [self._clean(draft, _behind(text)) for draft in drafts]
            for text, drafts in zip(texts, super().draft(texts, keys), strict=True)
        ]

    def _clean(self, draft: Draft, behind: str) -> Draft:
        spelt = [name for name in self.signals if name in draft.text]
        if spelt:
            at = min(draft.text.index(name) for name in spelt)
            why = f"a control token spelt out: {', '.join(spelt)}"
            return _cut(draft, draft.text[:at])._replace(status=InfillStatus.FILTERED, detail=why)
        text = before_repetition(draft.text, behind)
        if text == draft.text:
            return draft
        # The model had reached the text after the gap, so the answer is whole.
        return _cut(draft, text)._replace(status=InfillStatus.OK, detail="")

    def encode(self, text: str) -> list[int]:
        return self.opened.read(text, inside=True)

    def stop_rule(self) -> Stop:
        return second_begun(self.decode)

    def read(self, written: Written, gap: Gap) -> Reading:
        return read_first_sentence(written.ids, self.decode)

    def complete(self, written: Written) -> bool:
        return first_sentence(self.decode(written.ids)).whole


def _cut(draft: Draft, text: str) -> Draft:
    """The draft with less text. The log-probability was that of all that was written, so it goes."""
    kept = {name: value for name, value in draft.extra.items() if name != "logprob"}
    return draft._replace(text=text, extra={**kept, "trimmed": True})


def _behind(text: GappedText) -> str:
    """The text after the first gap, without other gaps and the space before them."""
    return "".join(piece.rstrip(" ") for piece in text.pieces[1:])


def family_of(opened: CausalLM, options: Options) -> Family:
    """The family whose tokens the vocabulary has, or the tokens that the options name.

    Raises InputError unless each of them is one id.
    """
    if options.prefix:
        ends = tuple(dict.fromkeys(name for family in FAMILIES.values() for name in family.ends))
        family = Family(options.prefix, options.suffix, options.middle, ends=ends)
        _refuse_absent(opened, family)
    else:
        found = [one for one in FAMILIES.values() if all(name in opened.ids for name in one[:3] if name)]
        if not found:
            looked = "; ".join(" ".join(filter(None, one[:3])) for one in FAMILIES.values())
            raise InputError(
                f"the vocabulary of {opened.name} has no fill-in-the-middle tokens (looked for: {looked})",
                f"Choose a model that has them, such as {EXAMPLE}, or give its own with the options prefix,"
                " suffix, middle.",
            )
        family = found[0]
    layout = options.layout or usual_layout(family)
    if layout == "psm" and not family.middle:
        raise UsageError(
            "layout psm needs a token for the middle", "Give it with the option middle, or use layout spm."
        )
    return family._replace(layout=layout)


def usual_layout(family: Family) -> str:
    """The layout of a family's prompts; tokens that somebody names have one only if there is one for the
    middle."""
    known = next((one.layout for one in FAMILIES.values() if one[:3] == family[:3]), family.layout)
    return "spm" if known == "psm" and not family.middle else known


def _refuse_absent(opened: CausalLM, family: Family) -> None:
    for name in filter(None, family[:3]):
        if name not in opened.ids:
            pieces = len(opened.read(name))
            raise InputError(
                f"{name} is not one token of {opened.name}: it is read as {pieces} pieces of text",
                "Look the name up in the model's tokenizer.json, under added_tokens.",
            )


def _refuse_typed(opened: CausalLM, ends: Mapping[str, int]) -> None:
    """Raise InputError if a control token that is spelt out in a story would be read as the token."""
    read = [name for name, id in ends.items() if id in opened.read(f"a {name} {name}")]
    if read:
        raise InputError(
            f"the tokenizer of {opened.name} reads a typed {read[0]} as the control token, not as text",
            "Choose a model with a byte-level vocabulary.",
        )


PROBES = (
    ("Anna has a red kite and a blue boat. Anna has a red ", "kite", " and a blue boat."),
    ("The cat slept under the old table. The cat slept ", "under", " the old table."),
    ("One, two, three, four, five, six. One, two, three, ", "four", ", five, six."),
)
"""Texts that say twice what is missing once. Any model that fills in the middle copies it."""


def refuse_if_it_cannot_copy(filler: Fim, options: Options) -> None:
    """Raise InputError if the model does not copy what is missing in two of three simple texts.

    Tokens that somebody names may be in the vocabulary and mean something else, or stand in another order.
    The model would then write fluent text that ignores what follows the gap.
    """
    texts = [GappedText(missing, (before, behind), (Gap(),)) for before, missing, behind in PROBES]
    greedy = Fim(filler.opened, 0, replace(options, top_k=1, longest=8))
    drafts = greedy.draft(texts, [text.key for text in texts])
    written = [draft.text.strip() for (draft,) in drafts]
    right = sum(answer.startswith(text.key) for answer, text in zip(written, texts, strict=True))
    if right < 2:
        family = filler.family
        raise InputError(
            f"{filler.opened.name} does not fill in the middle with these tokens: of 3 words that a text says"
            f" twice it copied {right} (it wrote {', '.join(map(repr, written))})",
            f"Look up the order of {family.prefix}, {family.suffix} and {family.middle or 'no middle'} in the"
            " model's documentation, and try the option layout: psm, spm or mask.",
        )


def build(request: GeneratorRequest) -> Sequence[Generator]:
    """Options: prefix, suffix, middle, layout, those of `generators.causal.writer.Decoding` and
    `generators.sampling.filling.Shared`."""
    shared = read_options(request, Shared, Options)
    options = read_options(request, Options, Shared)
    opened = open_causal_lm("fim", request.checkpoint, pick_device(request.device), EXAMPLE)
    # The model decides what is written, so its name is part of the generator's name.
    name = request.name or f"fim-{opened.name}"
    filler = Fim(opened, request.seed, options)
    if options.prefix or filler.family.layout != usual_layout(filler.family):
        refuse_if_it_cannot_copy(filler, options)
    return [ModelGenerator(name, filler, request.seed, shared)]
