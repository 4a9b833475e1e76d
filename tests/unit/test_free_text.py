"""Marks in a text, what fills them, and where generators are found. No model is opened here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.checkpoints.kinds import recognise
from generators.control import Control
from humaneval.domain import Drawing, Filling, FillsText, Gap, GappedText, InfillStatus
from humaneval.errors import InputError, UsageError
from humaneval.free_text import TYPES, Filled, fill_text, gapped, put_together, read_marks, told, write_marks
from humaneval.infills.free_text import Offer, found_offers, missing
from humaneval.infills.free_text_units import Range, Ranged, from_ranges, read_ranges, to_ranges, units
from tests.conftest import ROOT
from tests.pace import slowness


@pytest.mark.parametrize(
    ("text", "pieces", "types"),
    [
        ("Anna left. ____ She slept.", ("Anna left. ", " She slept."), ["sentence"]),
        ("___", ("", ""), ["sentence"]),
        ("a __ b", ("a __ b",), []),
        ("A [word], [ngram].", ("A ", ", ", "."), ["word", "ngram"]),
        ("[paragraph]\n[document]", ("", "\n", ""), ["paragraph", "document"]),
        ("See [Smith 2019] and [Word].", ("See [Smith 2019] and [Word].",), []),
        (r"Say \____ or \[word].", ("Say ____ or [word].",), []),
        (r"C:\\____ here", ("C:\\", " here"), ["sentence"]),
        (r"C:\temp [word]", ("C:\\temp ", ""), ["word"]),
        ("A [word: red] kite", ("A ", " kite"), ["word"]),
    ],
)
def test_marks_are_read(text: str, pieces: tuple[str, ...], types: list[str]) -> None:
    found = read_marks(text)
    assert found.pieces == pieces
    assert [gap.type for gap in found.gaps] == types


def test_a_mark_may_say_what_was_there() -> None:
    (gap,) = read_marks(r"A [ngram: see \[1\] and \\].").gaps
    assert gap == Gap("ngram", original="see [1] and \\")


def test_a_checkpoint_may_have_types_of_its_own() -> None:
    assert read_marks("[proper_noun] left.").gaps == ()
    assert read_marks("[proper_noun] left.", ["proper_noun"]).gaps == (Gap("proper_noun"),)


LETTERS = st.text(alphabet="ab \\_[]:word\n🍎", max_size=12)
ORIGINALS = st.text(alphabet="ab\\]:_", max_size=6)


@given(st.lists(st.tuples(LETTERS, st.sampled_from(TYPES), ORIGINALS), max_size=4), LETTERS)
def test_what_is_written_is_read_again_as_it_was(parts: list[tuple[str, str, str]], last: str) -> None:
    text = gapped(
        [*(piece for piece, _, _ in parts), last], [Gap(type, original=was) for _, type, was in parts]
    )
    assert read_marks(write_marks(text)) == text


@given(LETTERS)
def test_any_text_can_be_written_without_a_blank(text: str) -> None:
    assert read_marks(write_marks(gapped([text], []))).pieces == (text,)


def test_thousands_of_backslashes_are_read_once() -> None:
    began = thread_time()
    assert read_marks("\\" * 20_000).gaps == ()
    assert thread_time() - began < 0.5 * slowness()


@dataclass
class Writer:
    """Fills every gap with its number, and remembers what it got."""

    types: tuple[str, ...] = ("word", "sentence")
    several: bool = True
    name: str = "writer"
    heading: str = ""
    needs_original: bool = False
    seed: int = 0
    got: tuple[GappedText, ...] = ()
    longest: int = 0

    def fill(self, texts: Iterable[GappedText]) -> Iterator[tuple[Filling, ...]]:
        self.got = tuple(texts)
        for text in self.got:
            yield tuple(
                Filling(f"s{text.sample}g{n}", extra={"logprob": -float(n)} if n else {"logprob": -0.5})
                for n in range(len(text.gaps))
            )

    def drawing(self, how: Drawing) -> FillsText:
        self.seed, self.longest = how.seed, how.longest
        return self


def test_candidates_have_the_text_its_fillings_and_their_log_probabilities() -> None:
    first, second = fill_text(Writer(), "A [word]. ____ B.", 2, Drawing(seed=7))
    assert str(first) == first.text == "A s1g0. s1g1 B."
    assert second.text == "A s2g0. s2g1 B."
    assert [one.logprob for one in first.fillings] == [-0.5, -1.0]
    assert first.logprob == -1.5
    assert first.pieces == ("A ", ". ", " B.")
    assert first.complete
    assert told(first) == "log-probability −1.50 (−0.50, −1.00)"


def test_the_sum_is_unknown_where_one_part_is() -> None:
    fillings = [Filled("word", "a", -1.0), Filled("word", "", None, InfillStatus.MISSING, "no more tokens")]
    candidate = put_together(read_marks("[word] [word]"), fillings)
    assert candidate.logprob is None
    assert not candidate.complete
    assert told(candidate) == "no log-probability; blank 2 is missing: no more tokens"


def test_a_text_of_one_line_gets_the_heading_that_the_model_knows_and_the_candidate_does_not() -> None:
    writer = Writer(types=TYPES, heading="Unknown Title\n")
    (candidate,) = fill_text(writer, "____ B.")
    assert candidate.text == "s1g0 B."
    assert writer.got[0].pieces == ("Unknown Title\n", " B.")
    for whole in ("My Title\n____ B.", "[document]"):
        fill_text(writer, whole)
        assert writer.got[0].pieces == read_marks(whole).pieces


def test_what_was_there_is_told_only_to_those_that_need_it() -> None:
    blind, other = Writer(), Writer(needs_original=True)
    for writer, seen in ((blind, ""), (other, "red")):
        fill_text(writer, "A [word: red] kite.")
        assert writer.got[0].gaps[0].original == seen
    with pytest.raises(UsageError, match="must know how long") as caught:
        fill_text(other, "A [word] kite.")
    assert "[word: " in caught.value.hint


def test_paragraphs_may_be_longer_than_sentences() -> None:
    writer = Writer(types=TYPES)
    lengths = []
    for mark in ("____", "[paragraph]"):
        fill_text(writer, mark, how=Drawing())
        lengths.append(writer.longest)
    assert lengths[0] == 0 < lengths[1]


def test_a_mark_that_cannot_be_filled_is_refused_with_those_that_can() -> None:
    with pytest.raises(UsageError, match=r"^\[ngram\] cannot be filled by writer$") as caught:
        fill_text(Writer(), "A [ngram]. ____")
    assert "[word], [sentence]" in caught.value.hint
    with pytest.raises(UsageError, match="no blank"):
        fill_text(Writer(), "No blank.")
    with pytest.raises(UsageError, match="0 samples"):
        fill_text(Writer(), "____", 0)


@pytest.mark.parametrize(
    ("fillings", "said"),
    [
        ([], "filled 0 of 1 text"),
        ([None], "returned nothing instead of 2 fillings"),
        ([[Filling("red")]], "returned 1 instead of 2 fillings"),
        ([["red", "blue"]], "returned a value of type str instead of a filling"),
        (
            [[Filling("red"), Filling("blue", extra={"logprob": "low"})]],
            "a filling whose logprob is no number",
        ),
        ([[Filling("red"), Filling("blue", extra={"model": object()})]], "whose extra is no JSON"),
        ([[Filling("red"), Filling("\ud83d")]], "a filling with half of a character"),
        (None, "raised TypeError: 'NoneType' object is not iterable"),
    ],
)
def test_what_is_no_filling_is_refused_and_its_generator_is_named(fillings: object, said: str) -> None:
    class Wrong(Writer):
        def fill(self, texts: Iterable[GappedText]) -> Iterator[tuple[Filling, ...]]:
            return fillings  # type: ignore[return-value]

    with pytest.raises(InputError, match=f"^generator 'writer' .*{said}"):
        fill_text(Wrong(), "A [word] and a [word].")


@pytest.mark.parametrize("number", [float("nan"), float("-inf")])
def test_a_model_whose_numbers_overflow_gives_no_log_probability(number: float) -> None:
    class Overflowing(Writer):
        def fill(self, texts: Iterable[GappedText]) -> Iterator[tuple[Filling, ...]]:
            return ((Filling("red", extra={"logprob": number}),) for _ in texts)

    (found,) = fill_text(Overflowing(), "A [word].")
    assert (str(found), found.logprob) == ("A red.", None)


def test_the_control_fills_any_text_the_same_for_the_same_seed() -> None:
    control = Control("control", tuple(f"It was number {n}." for n in range(50)), 0)
    texts = [[str(one) for one in fill_text(control, "A. ____ ____", 3, Drawing(seed))] for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    assert len(set(texts[0])) == 3


def test_ranges_count_characters_and_come_back() -> None:
    text = read_marks("🍎 I ate [word: rice]. ____ Then [ngram: we all] left.")
    found = to_ranges(text)
    assert found.text == "🍎 I ate rice.  Then we all left."
    assert [found.text[one.start : one.end] for one in found.blanks] == ["rice", "", "we all"]
    assert from_ranges(found) == text


@pytest.mark.parametrize("spans", [[(0, 2), (1, 3)], [(0, 99)], [(3, 1)], [(-1, 2)]])
def test_ranges_that_cannot_be_are_refused(spans: list[tuple[int, int]]) -> None:
    with pytest.raises(InputError):
        from_ranges(Ranged("abc", tuple(Range(start, end, "word") for start, end in spans)))


@pytest.mark.parametrize(
    "values",
    [{}, {"text": 1, "blanks": []}, {"text": "a", "blanks": [{"start": 0, "end": 1, "type": "verb"}]}],
)
def test_what_a_page_sends_is_checked(values: dict) -> None:
    with pytest.raises(InputError):
        read_ranges(values, TYPES)


def test_units_are_words_sentences_and_lines() -> None:
    text = "A Trip\n  Dr. Smith's dog didn't bark. It slept!  "
    found = {type: [text[a:b] for a, b in spans] for type, spans in units(text).items()}
    assert found["sentence"] == ["A Trip", "Dr. Smith's dog didn't bark.", "It slept!"]
    assert found["paragraph"] == ["A Trip", "Dr. Smith's dog didn't bark. It slept!"]
    assert {"Smith's", "didn't", "bark", "!"} <= set(found["word"])
    assert found["document"] == [text.strip()]
    assert units(" ")["document"] == []


def config(folder: Path, **values: object) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(values), encoding="utf-8")
    return folder


CARD = {"vocabulary": 9, "probe": [1], "blanks": ["sentence", "word"]}


def card(folder: Path, kind: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "infilling.json").write_text(json.dumps({**CARD, "kind": kind}), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("architecture", "kind"),
    [
        ("BertForMaskedLM", "bert"),
        ("RobertaForMaskedLM", "bert"),
        ("T5ForConditionalGeneration", "t5"),
        ("BartForConditionalGeneration", "bart"),
        ("GPT2LMHeadModel", None),
        ("LlamaForCausalLM", None),
    ],
)
def test_a_model_of_others_is_known_by_its_architecture(
    architecture: str, kind: str | None, tmp_path: Path
) -> None:
    found = recognise(config(tmp_path / "model", architectures=[architecture]))
    assert (found and found.kind) == kind


def test_an_instruct_model_is_known_by_its_template_and_the_papers_by_its_weights(tmp_path: Path) -> None:
    folder = config(tmp_path / "chat", architectures=["LlamaForCausalLM"])
    (folder / "chat_template.jinja").write_text("", encoding="utf-8")
    assert recognise(folder).kind == "instruct"
    paper = config(tmp_path / "paper")
    (paper / "pytorch_model.bin").write_bytes(b"")
    assert (recognise(paper).kind, set(recognise(paper).types)) == ("ilm", set(TYPES))


def test_a_checkpoint_of_ours_says_its_kind_and_blanks(tmp_path: Path) -> None:
    assert recognise(card(tmp_path / "a", "ilm")).types == ("sentence", "word")
    assert recognise(card(tmp_path / "b", "lm")).types == ("sentence",)
    assert recognise(tmp_path) is None


def test_checkpoints_are_found_below_a_folder_and_damaged_or_hidden_ones_are_not(tmp_path: Path) -> None:
    card(tmp_path / "runs" / "ilm", "ilm")
    card(tmp_path / "runs" / "ilm" / "next", "ilm")
    card(tmp_path / "lm-short", "lm")
    card(tmp_path / ".hidden" / "lm", "lm")
    card(tmp_path / "a" / "b" / "c" / "d", "lm")
    (card(tmp_path / "broken", "lm") / "infilling.json").write_text("{", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "runs")
    found = found_offers(tmp_path)
    assert [(Path(one.checkpoint).relative_to(tmp_path).as_posix(), one.kind) for one in found] == [
        ("lm-short", "lm"),
        ("runs/ilm", "ilm"),
    ]
    assert [one.name for one in found] == ["lm-short", "ilm"]
    assert Offer("ilm", "runs/best").name == "best (ilm)"


def test_what_is_missing_comes_with_the_one_command_that_mends_it() -> None:
    assert "train ilm" in missing([Offer("control")]).how
    assert missing([Offer("ilm", "ilm")]).how == ""


def test_importing_generators_imports_neither_torch_nor_a_kind() -> None:
    source = (
        "import sys, generators; "
        "print([n for n in sys.modules if n.partition('.')[0] in ('torch', 'transformers', 'sqlalchemy')"
        " or n.startswith('generators.causal')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
