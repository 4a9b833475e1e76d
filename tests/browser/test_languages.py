"""Studies in other languages: a right-to-left and a Chinese one, all the way, as annotators see them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import Engine

from humaneval.crowd.endpoints import link
from humaneval.crowd.link import Link
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import open_study_at
from humaneval.domain import POSITIONS, GeneratorRequest, Story
from humaneval.infills.blanks import blanks_of
from humaneval.infills.generate import run
from humaneval.kinds import build
from humaneval.resources import words_in
from humaneval.study.create import create_study
from humaneval.study.file import read_study_file
from tests.browser.conftest import add_infills
from tests.browser.people import PublishedStudy
from tests.integration.link.people import LinkStudy

NARROW, WIDE = {"width": 320, "height": 640}, {"width": 1100, "height": 800}


class Writing(NamedTuple):
    """How stories of a language are written, with a name in each."""

    title: str
    sentences: tuple[str, str, str, str, str]
    names: tuple[str, ...]
    infill: str
    direction: str


WRITINGS = {
    "ar": Writing(
        "{} والقطار",
        (
            "استيقظت {} باكرًا في ذلك الصباح.",
            "كان القطار رقم 12 ينطلق في الساعة 7:30.",
            "جرت في الشارع وهي تحمل حقيبتها الثقيلة.",
            "رآها السائق فانتظر دقيقة واحدة.",
            "ابتسمت {} وشكرته عند الباب.",
        ),
        ("ليلى", "سلمى", "هند", "مريم"),
        "ثم اشترت {} تفاحة خضراء من السوق.",
        "rtl",
    ),
    "zh-Hans": Writing(
        "{}和火车",
        (
            "那天早上{}起得很早。",
            "12 次列车七点半发车。",
            "她提着沉重的包在街上奔跑。",
            "司机看见了她，便多等了一分钟。",
            "{}微笑着在车门口向他道谢。",
        ),
        ("小丽", "小梅", "小芳", "小红"),
        "然后{}在市场上买了一个青苹果。",
        "ltr",
    ),
}


def in_turn(language: str, *, rarely: str) -> pytest.MarkDecorator:
    """Every run looks at all pages in one of the languages, and `make test-long` in the other."""
    return pytest.mark.parametrize("language", [language, pytest.param(rarely, marks=pytest.mark.long)])


@pytest.fixture
def made(sqlite_engine: Engine, tmp_path: Path) -> Callable[..., None]:
    """Creates a study of stories, control and infills in a language, by changing `page.language` alone."""

    def make(language: str, **sections: dict[str, Any]) -> None:
        written = WRITINGS[language]
        stories = [
            Story(
                f"{language}-{name}",
                tuple(text.format(name) for text in written.sentences),
                written.title.format(name),
                split="test",
            )
            for name in written.names
        ]
        sentences = [written.infill.format(name) for name in written.names for _ in POSITIONS]
        add_infills(sqlite_engine, "system", sentences, stories, tmp_path)
        for request in (
            GeneratorRequest("control", options={"language": language}),
            GeneratorRequest("human"),
        ):
            for generator in build(request):
                run(sqlite_engine, generator, blanks_of(stories, POSITIONS))
        sections = {
            **sections,
            "design": {"generators": ["control", "human", "system"], "annotators": 3},
            "page": {"language": language, "show_titles": True},
            "consent": {"contact": "lab@example.org"},
        }
        settings, source = read_study_file(None, overrides=sections)
        assert create_study(sqlite_engine, "study", settings, source).doubts == ()

    return make


@pytest.fixture
def published(
    sqlite_engine: Engine, made: Callable[..., None], platform: MTurk, form_server: Callable
) -> Callable[..., PublishedStudy]:
    """Puts such a study up on a marketplace."""

    def put_up(language: str, *, static: bool = False) -> PublishedStudy:
        made(language)
        forms = form_server(sqlite_engine)
        plan_hits(open_study_at(sqlite_engine, "study", platform), static=static)
        up = publish_hits(open_study_at(sqlite_engine, "study", platform), public_url=forms.url)
        return PublishedStudy(sqlite_engine, platform, forms.url, up.preview_urls[0])

    return put_up


def _look(page: Page, axe: Callable, state: str, folder: Path) -> list[str]:
    """What is wrong with the page, narrow and wide; a picture of what is wrong is kept."""
    wrong = []
    for size in (NARROW, WIDE):
        page.set_viewport_size(size)
        wrong += [f"{state}, {size['width']}: {broken}" for broken in axe(page)]
        beyond = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        wrong += [f"{state}, {size['width']}: {beyond} px too wide"] * (beyond > 0)
        if wrong:
            page.screenshot(path=folder / f"{state}-{size['width']}.png", full_page=True)
    return wrong


def _english(page: Page) -> list[str]:
    """The words on the page that are among our English ones."""
    ours = {text for key, text in words_in("en").items() if "{" not in text and len(text) > 2}
    shown = {line.strip() for line in page.locator("body").inner_text().splitlines()}
    return sorted(ours & shown)


def _radios(page: Page, story: int) -> Locator:
    return page.locator("form > fieldset.passage").nth(story).get_by_role("radio")


def _fill_in(page: Page) -> None:
    page.locator("#consent").check()
    for story in range(3):
        _radios(page, story).nth(2).check()


@in_turn("ar", rarely="zh-Hans")
def test_X28_a_study_in_another_language_is_in_it_from_the_preview_to_the_hand_over(
    language: str, published: Callable[..., PublishedStudy], page: Page, axe: Callable, tmp_path: Path
) -> None:
    study, words = published(language), words_in(language)
    direction = WRITINGS[language].direction
    address = study.accept()
    hit = f"{study.forms_url}/form/{study.hit_keys()[0]}"
    wrong = []

    def check(state: str) -> None:
        wrong.extend(_look(page, axe, f"{language}-{state}", tmp_path))
        wrong.extend(f"{state}: {text}" for text in _english(page))
        assert page.locator("html").get_attribute("lang") == language
        assert page.evaluate("getComputedStyle(document.body).direction") == direction

    page.goto(hit)
    expect(page.get_by_text(words["example_1"])).to_be_visible()
    check("preview")
    page.goto(f"{hit}?assignmentId=A1")
    check("incomplete")
    page.goto(address)
    sentence = page.locator("fieldset.passage label span").first
    assert sentence.get_attribute("lang") == language
    assert sentence.evaluate("it => getComputedStyle(it).direction") == direction
    expect(page.get_by_text(words["control"])).to_be_visible()
    check("form")
    _radios(page, 0).nth(0).check()
    answered = words["answered"].replace("{done}", "1").replace("{total}", "3")
    expect(page.get_by_role("status")).to_have_text(answered)
    page.get_by_role("button", name=words["send"]).click()
    open_stories = words["separator"].join("23")
    missing = words["not_answered"].replace("{stories}", open_stories)
    expect(page.get_by_role("status")).to_have_text(missing)
    page.evaluate("document.getElementById('form').submit()")
    expect(page.get_by_role("alert")).to_contain_text(words["missing_heading"])
    check("missing")
    _fill_in(page)
    page.route("**/handover.js", lambda route: route.abort())
    page.get_by_role("button", name=words["send"]).click()
    expect(page.get_by_role("heading", name=words["saved_heading"])).to_be_visible()
    check("hand-over")
    page.get_by_role("button", name=words["handover_send"]).click()
    page.goto(address.replace("assignmentId=", "assignmentId=other"))
    check("limit")
    assert not wrong, "\n".join(wrong)
    assert len(study.responses()) == 3


@in_turn("zh-Hans", rarely="ar")
def test_X28_a_static_page_is_in_the_studys_language_too(
    language: str, published: Callable[..., PublishedStudy], page: Page, axe: Callable, tmp_path: Path
) -> None:
    study, words = published(language, static=True), words_in(language)
    page.goto(study.accept())
    expect(page.locator("#preview-note")).to_be_hidden()
    assert not _look(page, axe, f"{language}-static", tmp_path)
    assert not _english(page)
    _fill_in(page)
    answered = words["answered"].replace("{done}", "3").replace("{total}", "3")
    expect(page.get_by_role("status")).to_have_text(answered)
    page.get_by_role("button", name=words["send"]).click()
    page.wait_for_url("**/mturk/externalSubmit**")
    assert len(study.responses()) == 3


@in_turn("zh-Hans", rarely="ar")
def test_X28_a_volunteer_reads_the_language_of_the_study_from_the_link_to_the_thanks(
    language: str,
    sqlite_engine: Engine,
    made: Callable[..., None],
    form_server: Callable,
    page: Page,
    axe: Callable,
    tmp_path: Path,
) -> None:
    made(language, link={"completion_code": "C0DE-4711"})
    forms, words = form_server(sqlite_engine), words_in(language)
    study = LinkStudy(sqlite_engine, "study", forms.url, Link(link(forms.url), sqlite_engine))
    wrong = []

    def check(state: str) -> None:
        wrong.extend(_look(page, axe, f"{language}-link-{state}", tmp_path))
        wrong.extend(f"{state}: {text}" for text in _english(page))

    page.goto(study.open_link())
    expect(page.get_by_text(words["pay_none"])).to_be_visible()
    check("opening")
    page.get_by_role("button", name=words["begin"]).click()
    expect(page.locator("#form")).to_be_visible()
    check("form")
    _fill_in(page)
    page.get_by_role("button", name=words["send"]).click()
    expect(page.get_by_role("heading", name=words["thanks_heading"])).to_be_visible()
    check("thanks")
    page.goto(study.panel_link())
    expect(page.get_by_role("heading", name=words["incomplete_heading"])).to_be_visible()
    check("incomplete")
    assert not wrong, "\n".join(wrong)
