"""Masks: their distribution, the draws of the reference, and masks that cannot be used."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from scipy.stats import chisquare

from generators.masks.distinct_masks import TRIES, draw_masks
from generators.masks.documents import Document, Span, prose_document, story_document, verse_document
from generators.masks.hierarchical_mask import Hierarchical, one_span
from generators.masks.named import load_mask
from generators.masks.spans import Draw, Granularity, MaskedSpan
from generators.masks.words import word_spans
from humaneval.domain import Story
from humaneval.stories import read_stories
from tests.masks import sentence_mask

DOCUMENT, PARAGRAPH, SENTENCE, NGRAM, WORD = Granularity
STORY = story_document(
    Story("s", ("A b c d.", "E f.", "G h i j k l m n o p q.", "R.", "S t u?"), "The title")
)
SMALL = verse_document("a b\nc")
"""One paragraph of two sentences, of two words and of one."""


def mask_of(*spans: tuple[str, int, int]) -> tuple[MaskedSpan, ...]:
    return tuple(MaskedSpan(*span) for span in spans)


def exact(p: float) -> dict[tuple[MaskedSpan, ...], float]:
    """The probability of every mask of SMALL, by enumerating all draws."""

    def walk(words: list[tuple[int, int]]) -> Iterator[tuple[list[tuple[str, int, int]], float]]:
        if not words:
            yield [], 1.0
            return
        for rest, chance in walk(words[1:]):
            yield rest, (1 - p) * chance
            yield [(WORD, *words[0]), *rest], p / 2 * chance
        for length in range(1, len(words) + 1):
            for rest, chance in walk(words[length:]):
                yield [(NGRAM, words[0][0], words[length - 1][1]), *rest], p / 2 / len(words) * chance

    def sentence(span: tuple[int, int], words: list[tuple[int, int]]) -> Iterator[tuple[list[Any], float]]:
        yield [(SENTENCE, *span)], p
        for spans, chance in walk(words):
            yield spans, (1 - p) * chance

    found: Counter[tuple[MaskedSpan, ...]] = Counter()
    found[mask_of((DOCUMENT, 0, 5))] += p
    found[mask_of((PARAGRAPH, 0, 5))] += (1 - p) * p
    for first, a in sentence((0, 3), [(0, 1), (2, 3)]):
        for second, b in sentence((4, 5), [(4, 5)]):
            found[mask_of(*first, *second)] += (1 - p) ** 2 * a * b
    return dict(found)


@pytest.mark.parametrize("parity", [False, True])
@pytest.mark.parametrize("p", [0.03, 0.4])
def test_every_mask_of_a_small_document_has_its_exact_probability(p: float, parity: bool) -> None:
    expected = exact(p)
    assert sum(expected.values()) == pytest.approx(1)
    draw = Hierarchical(probability=p, parity=parity).prepare(SMALL)
    rng = random.Random(7)
    count = 40_000
    seen = Counter(tuple(draw(rng)) for _ in range(count))
    assert set(seen) <= set(expected)
    # Chi-square needs about five of each, so the rarest masks are pooled.
    common = [mask for mask, chance in expected.items() if chance * count >= 5]
    observed = [seen[mask] for mask in common]
    chances = [expected[mask] * count for mask in common]
    rest = count - sum(chances)
    if rest >= 5:
        observed.append(count - sum(observed))
        chances.append(rest)
    else:
        chances = [chance * sum(observed) / sum(chances) for chance in chances]
    assert chisquare(observed, chances).pvalue > 0.001


def test_skipping_ahead_masks_as_one_draw_a_node_does() -> None:
    """Which node the first span of a story's mask is, drawn either way."""
    counts = []
    for parity in (False, True):
        draw = Hierarchical(probability=0.1, parity=parity).prepare(STORY)
        rng = random.Random(11)
        masks = [draw(rng) for _ in range(20_000)]
        counts.append(Counter((span.type, span.start) for mask in masks for span in mask))
    keys = [key for key in counts[0] | counts[1] if counts[0][key] + counts[1][key] >= 20]
    differences = [(counts[0][key] - counts[1][key]) ** 2 / (counts[0][key] + counts[1][key]) for key in keys]
    # Of two equal Poisson counts, each term is chi-square with one degree of freedom.
    assert sum(differences) < len(keys) + 4 * (2 * len(keys)) ** 0.5


class Stream:
    """A random stream that gives set numbers, and records the requests."""

    def __init__(self, values: Iterable[float]) -> None:
        self.values = iter(values)
        self.asked: list[str] = []

    def random(self) -> float:
        self.asked.append("random")
        return next(self.values)

    def randint(self, low: int, high: int) -> int:
        self.asked.append(f"randint({low}, {high})")
        return int(next(self.values))


def drawn(mask: Hierarchical, document: Document, values: Iterable[float]) -> tuple[list[Any], list[str]]:
    stream = Stream(values)
    found = mask.prepare(document)(cast(random.Random, stream))
    assert next(stream.values, None) is None
    return [(span.type, document.text[span.start : span.end]) for span in found], stream.asked


PARITY = Hierarchical(parity=True)
LINES = verse_document("a b c d e f g h i j\n\nk l\nm")


def test_parity_draws_once_for_each_node_in_the_reference_s_order() -> None:
    no, yes = 0.03, 0.0299
    assert drawn(PARITY, LINES, [yes]) == ([(DOCUMENT, LINES.text)], ["random"])
    spans, asked = drawn(PARITY, LINES, [no, yes, no, yes, no, no])
    assert spans == [(PARAGRAPH, "a b c d e f g h i j"), (SENTENCE, "k l")]
    assert asked == ["random"] * 6
    # Document, paragraph, sentence, a, b (an n-gram of 3), e, f (a word), g … j (an n-gram of 1), paragraph.
    values = [no, no, no, no, yes, 0.49, 3, no, yes, 0.5, no, no, no, yes, 0, 1, yes]
    spans, asked = drawn(PARITY, LINES, values)
    assert spans == [(NGRAM, "b c d"), (WORD, "f"), (NGRAM, "j"), (PARAGRAPH, "k l\nm")]
    assert [ask for ask in asked if ask != "random"] == ["randint(1, 8)", "randint(1, 1)"]
    assert (asked.index("randint(1, 8)"), asked.index("randint(1, 1)")) == (6, 15)


def test_parity_draws_nothing_where_nothing_can_be_masked() -> None:
    assert drawn(Hierarchical(probability=0, parity=True), LINES, []) == ([], [])
    assert drawn(Hierarchical(DOCUMENT, parity=True), LINES, [0.5]) == ([], ["random"])
    assert len(drawn(Hierarchical(PARAGRAPH, parity=True), LINES, [0.5] * 2)[1]) == 2
    assert len(drawn(Hierarchical(SENTENCE, parity=True), LINES, [0.5] * 3)[1]) == 3
    # Every word is drawn; the second draw is made for n-grams, where it always succeeds, and not for words.
    spans, asked = drawn(Hierarchical(NGRAM, parity=True), SMALL, [0.0, 0.999, 2, 0.5])
    assert (spans, asked) == ([(NGRAM, "a b")], ["random", "random", "randint(1, 2)", "random"])
    spans, asked = drawn(Hierarchical(WORD, parity=True), SMALL, [0.0, 0.5, 0.0])
    assert (spans, asked) == ([(WORD, "a"), (WORD, "c")], ["random"] * 3)


@pytest.mark.parametrize("parity", [False, True])
def test_ngrams_have_one_to_eight_words_and_end_with_their_sentence(parity: bool) -> None:
    draw = Hierarchical(NGRAM, probability=0.2, parity=parity).prepare(LINES)
    rng = random.Random(3)
    lengths: dict[int, Counter[int]] = {}
    for _ in range(20_000):
        for _, start, end in draw(rng):
            text = LINES.text[start:end]
            assert "\n" not in text
            lengths.setdefault(start, Counter())[len(text.split())] += 1
    for number in range(10):  # the words a to j, at every second character
        most = min(8, 10 - number)
        counts = [lengths[2 * number][length] for length in range(1, most + 1)]
        assert sum(counts) == lengths[2 * number].total()
        assert most == 1 or chisquare(counts).pvalue > 0.001
    assert all(set(lengths[at]) == {1} for at in (23, 25))


@pytest.mark.parametrize("only", [None, *Granularity])
@pytest.mark.parametrize("parity", [False, True])
@pytest.mark.parametrize("p", [0.1, 0.7])
def test_spans_are_in_order_inside_one_sentence_and_begin_and_end_on_words(
    only: Granularity | None, parity: bool, p: float
) -> None:
    rng = random.Random(5)
    mask = Hierarchical(only, p, parity)
    types = {only} if only else set(Granularity)
    seen = set()
    touching = False
    for document in (STORY, LINES, prose_document("Zoë’s “cat” 🎉. It didn't!\nNo?")):
        draw = mask.prepare(document)
        sentences = [sentence for _, parts in document.paragraphs for sentence in parts]
        words = {part for sentence in sentences for part in word_spans(document.text, *sentence)}
        for _ in range(300):
            spans = draw(rng)
            assert all(a.end <= b.start for a, b in pairwise(spans))
            touching |= any(a.end == b.start for a, b in pairwise(spans))
            for type, start, end in spans:
                seen.add(type)
                assert start in {a for a, _ in words}
                assert end in {b for _, b in words}
                if type in (NGRAM, WORD):
                    assert any(a <= start and end <= b for a, b in sentences)
    assert seen == types
    assert touching or only not in (NGRAM, WORD)


def test_a_probability_of_one_takes_everything_and_of_zero_nothing() -> None:
    rng = random.Random(0)
    assert Hierarchical(probability=1.0).prepare(STORY)(rng) == [(DOCUMENT, 0, len(STORY.text))]
    words = Hierarchical(WORD, 1.0).prepare(STORY)(rng)
    assert "".join(STORY.text[a:b] for _, a, b in words) == "".join(STORY.text.split())
    assert Hierarchical(probability=0.0).prepare(STORY)(rng) == []
    assert list(Hierarchical().prepare(prose_document(""))(rng)) == []


def test_masks_of_one_document_differ_and_repeat_with_the_seed() -> None:
    masks = draw_masks(Hierarchical(), STORY, 16, random.Random(1))
    assert len(set(masks)) == len(masks) == 16
    assert masks == draw_masks(Hierarchical(), STORY, 16, random.Random(1))


def test_examples_that_repeat_others_are_given_up_and_counted() -> None:
    drops: Counter[str] = Counter()
    masks = draw_masks(Hierarchical(DOCUMENT), STORY, 16, random.Random(0), drops)
    assert set(masks) == {(), ((DOCUMENT, 0, len(STORY.text)),)}
    assert drops == {"repeats another mask": 14}


def test_empty_masks_can_be_refused() -> None:
    drops: Counter[str] = Counter()
    kept = draw_masks(Hierarchical(DOCUMENT), STORY, 16, random.Random(0), drops, allow_empty=False)
    assert kept == [((DOCUMENT, 0, len(STORY.text)),)]
    assert drops.total() == 15
    assert set(drops) <= {"repeats another mask", "masks nothing"}


@pytest.mark.parametrize("seed", range(3))
def test_masks_of_the_real_stories_are_as_many_and_as_long_as_the_reference_s(
    test_data: Path, seed: int
) -> None:
    rng = random.Random(seed)
    examples = spans = whole = characters = masked = 0
    for story in read_stories(test_data / "stories" / "valid.csv").stories:
        document = story_document(story)
        for mask in draw_masks(Hierarchical(), document, 16, rng):
            examples += 1
            spans += len(mask)
            whole += mask[:1] == ((DOCUMENT, 0, len(document.text)),)
            characters += len(document.text)
            masked += sum(span.end - span.start for span in mask)
    assert 29_800 <= examples <= 29_900  # the reference has 29,849 for seed 0
    assert 1.80 <= spans / examples <= 1.87  # 1.837
    assert (
        0.0245 <= whole / examples <= 0.0275
    )  # (1 - 0.97 ** 17.8) / 16 = 0.0261, for some 17.8 draws a document
    assert 0.135 <= masked / characters <= 0.15


@pytest.mark.parametrize("granularity", Granularity)
def test_one_span_is_any_of_its_granularity_equally_often(granularity: Granularity) -> None:
    rng = random.Random(2)
    seen = Counter(one_span(STORY, granularity, rng) for _ in range(4_000))
    assert None not in seen
    assert {span.type for span in seen if span} == {granularity}
    if granularity != NGRAM:
        expected = {DOCUMENT: 1, PARAGRAPH: 2, SENTENCE: 5, WORD: 28}[granularity]
        assert len(seen) == expected
        assert expected == 1 or chisquare(list(seen.values())).pvalue > 0.001


def test_a_story_s_title_is_never_the_masked_sentence() -> None:
    rng = random.Random(0)
    own = {sentence_mask(STORY, number)[0] for number in range(1, 6)}
    assert {one_span(STORY, SENTENCE, rng) for _ in range(200)} == own
    assert one_span(prose_document(" "), WORD, rng) is None
    assert one_span(prose_document(""), DOCUMENT, rng) is None


@pytest.mark.parametrize("name", ["hierarchical", *Granularity])
def test_a_mask_function_is_loaded_by_its_name_and_has_all_five_types(name: str) -> None:
    mask = load_mask(name)
    assert mask.name == name
    assert mask.types == ("document", "paragraph", "sentence", "ngram", "word")


@dataclass(frozen=True)
class Faulty:
    """A mask function that draws set masks."""

    draws: Callable[[], Any]
    name: str = "faulty"
    types: tuple[str, ...] = ("word", "note")

    def prepare(self, document: Document) -> Draw:
        return lambda rng: self.draws()


def failing() -> Any:
    raise ValueError("no such word\nin a second line")


@pytest.mark.parametrize(
    ("draws", "cause"),
    [
        (lambda: mask_of(("word", 0, 3), ("note", 2, 5)), "spans overlap"),
        (lambda: mask_of(("word", 4, 5), ("note", 0, 2)), "spans overlap"),
        (lambda: mask_of(("word", -1, 3)), "outside the document"),
        (lambda: mask_of(("word", 4, 1_000)), "outside the document"),
        (lambda: mask_of(("word", 4, 4)), "an empty span"),
        (lambda: mask_of(("verb", 4, 5)), "unknown type: verb"),
        (failing, "the mask function failed: ValueError: no such word"),
    ],
)
def test_G03_what_cannot_be_used_is_dropped_under_its_cause(draws: Callable[[], Any], cause: str) -> None:
    calls = []

    def counted() -> Any:
        calls.append(1)
        return draws()

    drops: Counter[str] = Counter()
    assert draw_masks(Faulty(counted), STORY, 3, random.Random(0), drops) == []
    assert drops == {cause: 3}
    assert len(calls) == 3 * TRIES


def test_one_good_draw_among_faulty_ones_is_enough() -> None:
    draws = iter([mask_of(("verb", 0, 1)), mask_of(("word", 5, 3)), mask_of(("note", 1, 3), ("word", 3, 4))])
    drops: Counter[str] = Counter()
    masks = draw_masks(Faulty(lambda: next(draws)), STORY, 1, random.Random(0), drops)
    assert masks == [(("note", 1, 3), ("word", 3, 4))]
    assert not drops


def test_a_document_that_cannot_be_prepared_has_no_masks() -> None:
    class Unprepared(Faulty):
        def prepare(self, document: Document) -> Draw:
            raise LookupError("no tree")

    drops: Counter[str] = Counter()
    assert draw_masks(Unprepared(failing), STORY, 16, random.Random(0), drops) == []
    assert drops == {"the mask function failed: LookupError: no tree": 16}


def test_G25_masking_loads_nothing_but_the_standard_library_and_ours() -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        "import generators.masks.named, generators.masks.samples, generators.masks.custom\n"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}"
        " - sys.stdlib_module_names))"
    )
    root = Path(__file__).resolve().parents[2]
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert run.stdout.split() == ["generators", "humaneval"]


def test_spans_are_plain_values() -> None:
    assert Span(1, 2) == (1, 2)
    (span,) = Hierarchical(DOCUMENT, 1.0).prepare(SMALL)(random.Random(0))
    assert isinstance(span, MaskedSpan)
    assert hash(span) == hash(MaskedSpan("document", 0, 5))
