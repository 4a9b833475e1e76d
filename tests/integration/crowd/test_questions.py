"""Any text goes through XML, HTML and the marketplace as it is; a page that is too large is refused before
the first call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, select

from humaneval.crowd.collect import collect_work
from humaneval.crowd.form_of_row import form_of
from humaneval.crowd.form_page import (
    MAX_QUESTION_BYTES,
    Delivery,
    external_question,
    html_question,
    question_style,
    render_form,
    templates,
)
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.platform import Offer
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import open_study_at
from humaneval.domain import GeneratorRequest, Sentences, Story
from humaneval.errors import PlatformError, UsageError
from humaneval.infills.blanks import blanks_of
from humaneval.infills.generate import run
from humaneval.kinds import build
from humaneval.market.questions.question import ExternalQuestion, HtmlQuestion, read_question
from humaneval.market.tables.database import Mode
from humaneval.scoring.questions.question import load_question, question_names
from humaneval.simulated.browser import FoundForm
from humaneval.store.engine import reading
from humaneval.store.responses import response_lines
from humaneval.store.stories import add_stories
from humaneval.store.tables import RowRow
from humaneval.study.create import create_study
from humaneval.study.file import read_study_file
from humaneval.study.stored import get_study, open_study, study_key
from humaneval.text import shown_hash

NASTY: Sentences = (
    "AT&T said <b>no</b> & \"yes\" 'maybe' &amp; &#65; >.",
    "]]> ends nothing, <![CDATA[ begins nothing --> <!-- nor this.",
    "{{7*7}} {% raw %} {# gone? #} ${7*7} %s {0} stay.",
    "<script>alert(1)</script></form></textarea><img src=x onerror=alert(1)>",
    "Emoji 😀👩\u200d👩\u200d👧 and 𝄞, Ünïcödé, 漢字, العربية.",
)


@pytest.fixture
def study_of(platform: MTurk) -> Callable[..., None]:
    """A study of control and human over stories of one's own."""

    def make(engine: Engine, stories: list[Story], **sections: Any) -> None:
        add_stories(engine, stories)
        blanks = blanks_of(stories, (1, 2, 3, 4, 5))
        for kind in ("control", "human"):
            for generator in build(GeneratorRequest(kind)):
                run(engine, generator, blanks)
        design = {"generators": ["control", "human"], "annotators": 4, **sections.pop("design", {})}
        create_study(engine, "study", *read_study_file(None, overrides={"design": design, **sections}))

    return make


@pytest.fixture
def nasty(sqlite_engine: Engine, study_of: Callable) -> Engine:
    stories = [Story(f"s{n}", NASTY[n:] + NASTY[:n], title=NASTY[n], split="test") for n in range(4)]
    study_of(
        sqlite_engine, stories, hit={"title": NASTY[0], "description": NASTY[1]}, page={"show_titles": True}
    )
    return sqlite_engine


def shown(form: FoundForm) -> list[list[str]]:
    return [[text for _, text in form.choices[f"choice-{n}"]] for n in range(1, len(form.choices) + 1)]


def test_C29_C30_C44_a_static_study_shows_every_text_as_it_is_and_goes_all_the_way(
    nasty: Engine, platform: MTurk, person: Callable, listed: Callable
) -> None:
    plan_hits(open_study_at(nasty, "study", platform), static=True)
    result = publish_hits(open_study_at(nasty, "study", platform), public_url="http://localhost:9")
    assert (result.made, result.assignments) == (4, 4)
    hits = listed()
    assert {(hit["Title"], hit["Description"]) for hit in hits} == {(NASTY[0], NASTY[1])}
    assert max(ord(c) for hit in hits for c in hit["Question"]) < 0x10000  # C30: emoji as numeric entities
    key = study_key(open_study(nasty, "study"))
    met = set()
    for name in ("Ada", "Ben", "Cy", "Di"):
        work = person(name).accept(result.preview_urls[0])
        page = work.open()
        form = page.form(field="form")
        assert form is not None
        assert "49" not in [text for texts in shown(form) for text in texts]
        assert shown_hash(shown(form)) == form.values["form"]  # letter for letter what the row holds
        assert form.action == f"{platform.endpoint.submit_origin}/mturk/externalSubmit"
        assert "<script>alert" not in page.html
        met.add(form.values["form"])
        truth = key[form.values["form"]]
        chosen = {f"choice-{n}": str(passage["position"]) for n, passage in enumerate(truth, 1)}
        # The page's script copies the assignment's id from the address.
        entered = {**form.boxes, **chosen, "assignmentId": work.id, "comment": NASTY[1]}
        assert work.person.browser.submit(page, form, entered).status == 200
    assert len(met) == 4
    found = collect_work(open_study_at(nasty, "study", platform))
    assert (found.new, found.rebuilt, found.responses, found.strays, found.differences) == (4, 0, 8, 0, ())
    assert collect_work(open_study_at(nasty, "study", platform)).new == 0
    with reading(nasty) as session:
        lines = response_lines(session, get_study(session, "study"))
    assert all(line["choice"] == line["position"] for line in lines)
    assert {line["row"] for line in lines} == {1, 2, 3, 4}


def test_a_static_page_that_names_another_form_is_reported_and_counted_for_the_row_that_was_shown(
    nasty: Engine, platform: MTurk, person: Callable, market: Any, listed: Callable
) -> None:
    plan_hits(open_study_at(nasty, "study", platform), static=True)
    publish_hits(open_study_at(nasty, "study", platform), public_url="http://localhost:9")
    with reading(nasty) as session:
        other = session.scalars(select(RowRow.shown_hash).where(RowRow.ordinal == 3)).one()
    first = listed()[0]["HITId"]
    work = person("Ada").accept(f"{market.url}/hits/{first}")
    work.submit_directly({"form": other, "consent": "1", "choice-1": "1", "choice-2": "2"})
    assert collect_work(open_study_at(nasty, "study", platform)).differences == (
        f"assignment {work.id}: the answers name another form than the one that was shown",
    )
    with reading(nasty) as session:
        lines = response_lines(session, get_study(session, "study"))
    assert {line["row"] for line in lines} == {1}


def test_C29_C44_our_own_server_shows_every_text_as_it_is(
    nasty: Engine, platform: MTurk, person: Callable, form_server: Callable
) -> None:
    plan_hits(open_study_at(nasty, "study", platform))
    result = publish_hits(open_study_at(nasty, "study", platform), public_url=form_server(nasty).url)
    work = person("Ada").accept(result.preview_urls[0])
    form = work.open().form(field="form")
    assert form is not None
    assert shown_hash(shown(form)) == form.values["form"]
    handed = work.post(1, comment="{{7*7}}<script>")
    assert handed.form(action="/mturk/externalSubmit").values["comment"] == "{{7*7}}<script>"
    # What the address says is never a template, and is not repeated raw.
    strange = work.frame.replace(f"assignmentId={work.id}", "assignmentId={{7*7}}%3Cscript%3E")
    page = work.person.browser.get(strange)
    assert "<script>" not in page.html.replace('<script src="/assets', "")
    assert ">49<" not in page.html


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=40)
)
def test_C29_any_text_survives_both_question_documents(text: str) -> None:
    page = f"<p>{text}</p>"
    question = read_question(html_question(page), Mode.LOCAL)
    assert isinstance(question, HtmlQuestion)
    plain = "".join(c if ord(c) < 0x10000 else f"&#x{ord(c):X};" for c in page)
    assert question.html == plain
    url = "https://study.example.org/form/k?a=1&b=<>\"'"
    asked = read_question(external_question(url), Mode.LOCAL)
    assert isinstance(asked, ExternalQuestion)
    assert asked.url == url


def test_C30_nothing_that_is_inlined_unescaped_needs_an_entity() -> None:
    # Inside <script> and <style> a numeric entity would stay as it is.
    for question in question_names():
        folder = load_question(question).folder
        asset = templates(folder).globals["asset"]
        text = asset("form.js") + asset("form.css") + question_style(folder)
        assert max(map(ord, text)) < 0x10000


def test_C31_the_limit_is_in_bytes_and_is_the_marketplaces_own() -> None:
    empty = len(html_question("<p></p>").encode())
    for letter, size in (("a", 1), ("é", 2), ("漢", 3)):
        room = (MAX_QUESTION_BYTES - empty) // size
        fits = html_question(f"<p>{letter * room}</p>")
        assert len(fits.encode()) > MAX_QUESTION_BYTES - size
        read_question(fits, Mode.LOCAL)
        with pytest.raises(PlatformError, match="65,535"):
            html_question(f"<p>{letter * (room + 1)}</p>")


def _long_and_short() -> Iterator[Story]:
    for number in range(8):
        size = 15_000 if number == 7 else 10
        yield Story(f"s{number}", tuple(f"{number} {n} {'x' * size}." for n in range(5)), split="test")


def test_C31_one_page_that_is_too_large_stops_the_study_before_the_first_call(
    sqlite_engine: Engine, study_of: Callable, platform: MTurk, troubles: Any, listed: Callable
) -> None:
    study_of(sqlite_engine, list(_long_and_short()), design={"annotators": 8, "seed": 2})
    with reading(sqlite_engine) as session:
        study = get_study(session, "study")
        pages = [
            render_form(form_of(session, study, row.id), Delivery("https://x", static=True))
            for row in study.rows
        ]
    assert len(pages[0]) < MAX_QUESTION_BYTES < max(map(len, pages))  # the first one would have been taken
    plan_hits(open_study_at(sqlite_engine, "study", platform), static=True)
    with pytest.raises(PlatformError, match="bytes; the platform takes 65,535"):
        publish_hits(open_study_at(sqlite_engine, "study", platform), public_url="http://localhost:9")
    assert listed() == []
    assert "CreateHIT" not in troubles.seen
    plan_hits(open_study_at(sqlite_engine, "study", platform))  # our own server has no such limit
    assert (
        publish_hits(open_study_at(sqlite_engine, "study", platform), public_url="http://localhost:9").made
        == 1
    )


@pytest.mark.parametrize("where", ["title", "description", "keywords"])
def test_C30_emoji_in_what_the_platform_lists_are_refused_before_the_first_call(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk, troubles: Any, where: str
) -> None:
    text = "Read & mark 🎉"
    study_factory(sqlite_engine, hit={where: [text] if where == "keywords" else text})
    plan_hits(open_study_at(sqlite_engine, "study", platform))
    with pytest.raises(UsageError, match=f"the {where} has characters that the platform does not accept: 🎉"):
        publish_hits(open_study_at(sqlite_engine, "study", platform), public_url="http://localhost:9")
    assert "CreateHIT" not in troubles.seen


def test_keywords_that_are_too_long_are_refused_before_the_first_call(platform: MTurk) -> None:
    offer = Offer(
        "k", "t", "d", ("x" * 400,) * 3, Decimal("0.10"), 1, 60, 60, 60, form_url="https://x.example"
    )
    with pytest.raises(UsageError, match="1,204 characters"):
        platform.check(offer)
