"""What every generator must do, as rules that can be tested: `humaneval generators check KIND`.

`humaneval.conformance` tries them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from humaneval.conformance import NotTriedError
from humaneval.domain import (
    POSITIONS,
    Blank,
    FillsText,
    Gap,
    GappedText,
    Generator,
    Infill,
    InfillStatus,
    Story,
    depends_on_batch,
    verdict_on,
)
from humaneval.infills.asked import fault_of
from humaneval.text import normalise

SAME_TEXTS = 0.98
"""The share of texts that must agree between a batch and single calls. Rounding may change a few."""
SAME_LOGPROBS = 1e-4
"""The largest difference between log-probabilities of equal texts, per token."""
CONTROL = (
    "<|endoftext|>",
    "<|infill_sentence|>",
    "[MASK]",
    "[SEP]",
    "<mask>",
    "</s>",
    "<extra_id_0>",
    "<fim_middle>",
    "<|fim_middle|>",
)
"""Control strings of some models, used here as words of a story."""


@dataclass(frozen=True)
class Trial:
    """A way to make the generator with a seed, and stories to try it on."""

    make: Callable[[int], Generator]
    stories: Sequence[Story]

    @cached_property
    def generator(self) -> Generator:
        """The generator with seed 0."""
        return self.make(0)

    @cached_property
    def blanks(self) -> tuple[Blank, ...]:
        """Every sentence of every story."""
        return tuple(Blank(story, position) for story in self.stories for position in POSITIONS)

    @cached_property
    def together(self) -> tuple[Infill, ...]:
        """The infills of all blanks in one call."""
        return tuple(self.generator.infill(self.blanks))

    def filler(self) -> FillsText:
        """The generator as one that fills any text. Raises NotTriedError if it fills only stories."""
        if not isinstance(self.generator, FillsText):
            raise NotTriedError("it fills only stories")
        return self.generator


def order(trial: Trial) -> str | None:
    """One infill a blank, in the order of the blanks, each with its own blank."""
    backwards = trial.blanks[::-1]
    for blanks, infills in (
        (trial.blanks, trial.together),
        (backwards, tuple(trial.generator.infill(backwards))),
    ):
        if len(infills) != len(blanks):
            return f"{len(blanks)} blanks got {len(infills)} infills"
        for number, (blank, infill) in enumerate(zip(blanks, infills, strict=True), 1):
            if fault := fault_of(infill, blank):
                return f"infill {number}: {fault} for {_name(blank)}"
    return None


def streaming(trial: Trial) -> str | None:
    """The first infill comes before all blanks have been read."""
    read = 0

    def endless() -> Iterator[Blank]:
        nonlocal read
        while True:
            for blank in trial.blanks:
                read += 1
                if read > 100_000:
                    raise RuntimeError("100,000 blanks were read before the first infill came")
                yield blank

    next(iter(trial.generator.infill(endless())))
    return None


def batch_equals_single(trial: Trial) -> str | None:
    """The infill of a blank does not depend on the other blanks or their order."""
    _refuse_coarse(trial)
    alone = [next(iter(trial.generator.infill([blank]))) for blank in trial.blanks]
    backwards = list(trial.generator.infill(trial.blanks[::-1]))[::-1]
    for words, others in (("alone", alone), ("in another order", backwards)):
        same = [(a, b) for a, b in zip(trial.together, others, strict=True) if a.text == b.text]
        if len(same) < SAME_TEXTS * len(others):
            return f"{len(others) - len(same)} of {len(others)} texts differ if blanks are filled {words}"
        for a, b in same:
            values = [infill.extra.get("logprob") for infill in (a, b)]
            tokens = max(int(a.extra.get("tokens", 1)), 1)
            if None not in values and abs(values[0] - values[1]) > SAME_LOGPROBS * tokens + 1e-4:  # type: ignore[operator]  # neither is None; infills keep four decimals
                return f"log-probabilities of {_name(a.blank)} are {values[0]} and, {words}, {values[1]}"
    return None


def _refuse_coarse(trial: Trial) -> None:
    """Raise NotTriedError if the generator's precision promises nothing of the kind."""
    made = trial.generator.provenance
    if depends_on_batch(made):
        raise NotTriedError(f"with precision {made.batch['precision']} an infill depends on its batch")


def seeds_repeat(trial: Trial) -> str | None:
    """The same seed gives the same texts."""
    again = trial.make(0)
    texts = [infill.text for infill in again.infill(trial.blanks)]
    differ = sum(a.text != b for a, b in zip(trial.together, texts, strict=True))
    if differ > (1 - SAME_TEXTS) * len(texts):
        return f"{differ} of {len(texts)} texts differ with the same seed"
    return None


def blind(trial: Trial) -> str | None:
    """The generator does not use the sentence that was taken out, unless it declares that it needs it."""
    if trial.generator.provenance.kind == "human" or getattr(trial.generator, "needs_original", False):
        raise NotTriedError("it declares that it needs the original")
    changed = [
        replace(
            blank, story=replace(blank.story, sentences=blank.filled("Quite another thing took place there."))
        )
        for blank in trial.blanks
    ]
    texts = [infill.text for infill in trial.generator.infill(changed)]
    differ = sum(a.text != b for a, b in zip(trial.together, texts, strict=True))
    if differ > (1 - SAME_TEXTS) * len(texts):
        return f"{differ} of {len(texts)} texts change with the sentence that was taken out"
    return None


def any_text(trial: Trial) -> str | None:
    """Every blank gets printable text, even if the story has emoji, curly quotes or other scripts."""
    hard = (
        "“Don’t!” said Zoë — naïve…",
        "She ate 3 🍎 and a crème brûlée.",
        "他说了一句话。",
        "Ольга ушла.",
        "It was 20 °C.",
    )
    return _all_answered(trial, replace(trial.stories[0], sentences=hard))


def other_lengths(trial: Trial) -> str | None:
    """Every sentence of stories of three and of eight sentences is filled."""
    story = trial.stories[0]
    short, long = story.sentences[:3], (*story.sentences, *trial.stories[-1].sentences[:3])
    for sentences in (short, long):
        if wrong := _all_answered(trial, replace(story, sentences=sentences)):
            return f"a story of {len(sentences)} sentences: {wrong}"
    return None


def control_strings(trial: Trial) -> str | None:
    """Control strings of a model in a story are ordinary words and do not change how it works."""
    sentences = tuple(f"Anna read {word} aloud at {n} o'clock." for n, word in enumerate(CONTROL[:5], 1))
    wrong = _all_answered(trial, replace(trial.stories[0], sentences=sentences))
    story = replace(trial.stories[0], title=" ".join(CONTROL))
    return wrong or _all_answered(trial, story)


def empty_context(trial: Trial) -> str | None:
    """The generator copes with sentences of one character around the blank and an empty title."""
    bare = replace(trial.stories[0], title="", sentences=("A", "B", "C", "D", "E"))
    wrong = _all_answered(trial, bare)
    if wrong or not isinstance(trial.generator, FillsText):
        return wrong
    gap = _gap(trial.generator)
    return _right_number(trial.generator, [GappedText("nothing", ("", ""), (gap,))])


def long_context(trial: Trial) -> str | None:
    """A story of 20,000 words is filled, or refused with a reason, and the next story is filled as usual."""
    story = replace(trial.stories[0], sentences=tuple("many words " * 2000 for _ in POSITIONS))
    long, short = Blank(story, 3), trial.blanks[0]
    infills = list(trial.generator.infill([long, short]))
    if [infill.blank for infill in infills] != [long, short]:
        return "the long story or the next one got no infill of its own"
    if infills[0].status is not InfillStatus.OK and not infills[0].detail:
        return f"its status is {infills[0].status}, without a reason"
    coarse = depends_on_batch(trial.generator.provenance)
    if infills[1].text != trial.together[0].text and not coarse:
        return "the next story got another infill than without the long one"
    return None


def first_and_last(trial: Trial) -> str | None:
    """The first and the last sentence of a story are filled, and so is a gap at either end of a text."""
    ends = [infill for infill in trial.together if infill.blank.position in (1, 5)]
    if not any(infill.text for infill in ends):
        return "neither first nor last sentences were filled"
    if not isinstance(trial.generator, FillsText):
        return None
    gap = _gap(trial.generator)
    texts = [
        GappedText("first", ("", " Then she went home."), (gap,)),
        GappedText("last", ("Anna came home. ", ""), (gap,)),
    ]
    return _right_number(trial.generator, texts)


def several_blanks(trial: Trial) -> str | None:
    """Texts with one, two and three gaps, also in one batch, get one filling a gap, in order."""
    generator = trial.filler()
    coarse = depends_on_batch(trial.generator.provenance)
    gap = _gap(generator)
    pieces = ("Anna came home. ", " She sat down. ", " It was late. ", " She slept.")
    texts = [GappedText(f"text {n}", (*pieces[:n], pieces[-1]), (gap,) * n) for n in (1, 2, 3, 1, 2)]
    wrong = _right_number(generator, texts)
    if wrong:
        return wrong
    if coarse:
        return None
    together = list(generator.fill(texts))
    alone = [next(iter(generator.fill([text]))) for text in texts]
    if [[f.text for f in fillings] for fillings in together] != [
        [f.text for f in fillings] for fillings in alone
    ]:
        return "texts with several blanks are filled differently together and alone"
    return None


def limits(trial: Trial) -> str | None:
    """A filling with the status `ok` has the requested number of words and the requested beginning."""
    generator = trial.filler()
    kind = _gap(generator).type
    asked = (Gap(kind, max_words=5), Gap(kind, min_words=3), Gap(kind, beginning="The"))
    for gap in asked:
        texts = [
            GappedText(f"{story.id} limits", (f"{story.sentences[0]} ", f" {story.sentences[2]}"), (gap,))
            for story in trial.stories
        ]
        for (filling,) in generator.fill(texts):
            if filling.status is not InfillStatus.OK:
                continue
            words = len(filling.text.split())
            if words < gap.min_words or 0 < gap.max_words < words:
                limits = f"{gap.min_words} to {gap.max_words or 'any number'}"
                return f"{filling.text!r} has {words} words, not {limits}"
            if not filling.text.startswith(gap.beginning):
                return f"{filling.text!r} does not begin with {gap.beginning!r}"
    return None


RULES: Mapping[str, Callable[[Trial], str | None]] = {
    "order kept": order,
    "streaming": streaming,
    "batch equals single": batch_equals_single,
    "seeds repeat": seeds_repeat,
    "blind to the original": blind,
    "any text": any_text,
    "other lengths": other_lengths,
    "control strings": control_strings,
    "first and last": first_and_last,
    "empty context": empty_context,
    "long context": long_context,
    "several blanks": several_blanks,
    "limits": limits,
}


def _name(blank: Blank) -> str:
    return f"{blank.story.id} position {blank.position}"


def _gap(generator: FillsText) -> Gap:
    types = generator.types
    return Gap("sentence" if "sentence" in types else types[0])


def _all_answered(trial: Trial, story: Story) -> str | None:
    """What is wrong with the infills of every blank of a story, or None."""
    blanks = [Blank(story, position) for position in range(1, len(story.sentences) + 1)]
    infills = list(trial.generator.infill(blanks))
    if [infill.blank for infill in infills] != blanks:
        return "not every blank got an infill with its own, unchanged story"
    return _unfit(
        ((infill.text, infill.status) for infill in infills), f"{story.title} {' '.join(story.sentences)}"
    )


def _right_number(generator: FillsText, texts: Sequence[GappedText]) -> str | None:
    """What is wrong with the fillings of texts, or None."""
    found = list(generator.fill(texts))
    if len(found) != len(texts):
        return f"{len(texts)} texts got {len(found)} answers"
    for text, fillings in zip(texts, found, strict=True):
        if len(fillings) != len(text.gaps):
            return f"a text with {len(text.gaps)} blanks got {len(fillings)} fillings"
    return _unfit(((one.text, one.status) for fillings in found for one in fillings), "")


def _unfit(answers: Iterable[tuple[str, InfillStatus]], context: str) -> str | None:
    """What is wrong with answers, or None. A control string is allowed if the context has it."""
    for text, status in answers:
        if status is not InfillStatus.OK:
            continue
        verdict = verdict_on(normalise(text), needs_words=False, one_sentence=False)
        if verdict.status is InfillStatus.EMPTY:
            return "an empty text has the status ok"
        if verdict.status is InfillStatus.UNPRINTABLE:
            return f"a text with {verdict.detail} has the status ok: {text!r}"
        found = [word for word in CONTROL if word in text and word not in context]
        if found:
            return f"a control string came out as text: {found[0]}"
    return None
