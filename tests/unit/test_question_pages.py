"""What the form of each question shows, and what it never tells."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from humaneval.crowd.form_of_row import _shown
from humaneval.crowd.form_page import Delivery, Form, ShownPassage, _rendered, as_shown, render_form
from humaneval.errors import SettingsError
from humaneval.report.contents import ExampleFacts
from humaneval.report.page import environment
from humaneval.resources import bundled
from humaneval.scoring.questions.question import question_names
from humaneval.study.file import StudyFile, read_study_file
from humaneval.study.forbidden import forbidden_questions

STORY = ("Ann slept.", "Ben <b>left</b>.", "Cat & dog met.", "Dora sang.", "Eve won.")
DELIVERY = Delivery("/form/x", "token")


def study(question: str, answers: dict[str, Any] | None = None) -> StudyFile:
    overrides = {"question": question, "answers": answers or {}}
    return read_study_file(None, overrides=overrides).settings


def shown(settings: StudyFile, position: int, alternative: str = "") -> ShownPassage:
    """A passage of a row with this position."""
    row = SimpleNamespace(
        place=1, sentences=list(STORY), title="", position=position, alternative=alternative
    )
    (passage,) = _shown([row], settings)
    return passage


def page(settings: StudyFile, *passages: ShownPassage) -> str:
    return render_form(Form(settings, passages, "f" * 64), DELIVERY)


@pytest.mark.parametrize("question", ["detect", "boundary", "rate"])
def test_no_page_tells_which_sentence_was_replaced(question: str) -> None:
    settings = study(question)
    pages = {page(settings, shown(settings, position)) for position in range(2, 6)}
    assert len(pages) == 1
    (text,) = pages
    for sentence in ("Ann slept.", "Ben &lt;b&gt;left&lt;/b&gt;.", "Cat &amp; dog met."):
        assert text.count(sentence) == 1


def test_a_marked_sentence_is_the_one_at_the_position() -> None:
    settings = study("rate", {"mark": True})
    text = page(settings, shown(settings, 2))
    (marked,) = re.findall("<mark>(.*?)</mark>", text)
    assert re.sub("<span.*?</span>", "", marked).strip() == "Ben &lt;b&gt;left&lt;/b&gt;."
    assert re.findall(r'<span class="unseen">(.*?)</span>', marked) == ["Marked: ", " End of the mark."]


def test_a_pair_stands_side_by_side_and_only_its_order_differs() -> None:
    settings = study("prefer")
    one = page(settings, shown(settings, 2, "Ben stayed."))
    swapped = tuple("Ben stayed." if "Ben" in each else each for each in STORY)
    other = page(settings, replace(shown(settings, 2, STORY[1]), sentences=swapped))
    assert one != other
    first, second = "Ben &lt;b&gt;left&lt;/b&gt;.", "Ben stayed."
    assert one.replace(first, "1").replace(second, "2") == other.replace(first, "2").replace(second, "1")
    assert "No difference" not in one
    tied = study("prefer", {"ties": True})
    assert page(tied, shown(tied, 2, "Ben stayed.")).count('type="radio" name="choice-1"') == 3


@pytest.mark.parametrize("question", ["rate", "prefer"])
def test_no_space_stands_between_chinese_sentences(question: str) -> None:
    settings = study(question)
    chinese = ("他走了。", "她说：“好。”", "天黑了！", "没人来。", "灯灭了。")
    mine = replace(shown(settings, 2, "她说。"), sentences=chinese)
    text = re.sub("<.*?>", "", page(settings, mine))
    assert "天黑了！没人来。灯灭了。" in text
    # The page that is kept for such forms is not that of another language.
    korean = replace(mine, sentences=("그는 갔다.", "좋다.", "밤이다.", "비가 온다.", "끝났다."))
    assert "밤이다. 비가 온다. 끝났다." in re.sub("<.*?>", "", page(settings, korean))


@pytest.mark.parametrize("question", question_names())
def test_a_page_that_is_filled_in_is_the_page_that_would_be_rendered(question: str) -> None:
    settings = study(question, {"mark": True} if question == "rate" else {})
    odd = ("<b>", "&amp;", '"', "{{ x }}", "\\1 \\g<0>")
    pair = "Ben stayed." if question == "prefer" else ""
    for sentences in (STORY, odd, odd[:3]):
        passage = replace(shown(settings, 2, pair), sentences=sentences)
        form = Form(settings, (passage, replace(passage, place=2, title="T")), "f" * 64)
        assert render_form(form, DELIVERY) == _rendered(as_shown(form, "task"), DELIVERY)


def test_what_a_form_still_lacks_is_linked_to() -> None:
    scales = {"fluency": ["bad", "good"], "fit": ["bad", "good"]}
    settings = study("rate", {"scales": scales})
    begun = replace(shown(settings, 2), given={"fluency": 3})
    text = render_form(Form(settings, (begun,), "f" * 64, missing=(1,)), DELIVERY)
    assert '<a href="#fit-1">' in text
    assert text.count(' id="fit-1"') == text.count(' id="fluency-1"') == 1
    assert text.count(" checked>") == 1


def test_the_script_of_the_form_stays_small() -> None:
    assert (bundled("hit_templates") / "form.js").stat().st_size <= 4096


def test_a_scale_is_called_on_the_page_as_the_study_says() -> None:
    scales = {"fluency": ["holprig", "flüssig"], "fits_well": ["passt nicht", "passt"]}
    overrides = {
        "question": "rate",
        "answers": {"scales": scales},
        "page": {"language": "de"},
        "words": {"scale_fluency": "Sprachfluss"},
    }
    text = page(own := read_study_file(None, overrides=overrides).settings, shown(own, 2))
    assert re.findall(r'-scale" dir="auto">([^<]*)<', text) == ["Sprachfluss", "Fits well"]
    with pytest.raises(SettingsError, match=r"words\.scale_flow: .* nearest is scale_fluency"):
        read_study_file(None, overrides={**overrides, "words": {"scale_flow": "x"}})
    usual = read_study_file(None, overrides={"question": "rate", "page": {"language": "de"}}).settings
    assert "sehr gut" in page(usual, shown(usual, 2))


def test_texts_of_answers_can_be_seen_and_ask_nobody_who_they_are() -> None:
    for bad in ("a\x07", "\u200b", " "):
        with pytest.raises(SettingsError, match="answers"):
            study("rate", {"scales": {"fluency": ["bad", bad]}})
    asks = study("rate", {"scales": {"fluency": ["bad", "Please enter your e-mail."]}})
    assert ["answers seems to ask for an e-mail" in doubt for doubt in forbidden_questions(asks)] == [True]
    assert list(forbidden_questions(study("rate"))) == []


def test_an_example_in_a_report_has_no_space_between_chinese_sentences() -> None:
    chinese = ("他走了。", "她说：“好。”", "天黑了！", "没人来。", "灯灭了。")
    template = environment().from_string('{% from "macros.html" import example %}{{ example(one, 1) }}')
    page = template.render(one=ExampleFacts("", chinese, 1, {}))
    assert "她说：“好。”天黑了！没人来。灯灭了。" in page
