"""Every page has the words of the way people come, with and without pay."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

import pytest
from sqlalchemy import Engine

from humaneval.crowd.extend import expire_all
from humaneval.crowd.link import Invitation
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import open_study_at
from humaneval.errors import UsageError
from humaneval.simulated.annotator import Crowd, Skills
from humaneval.simulated.browser import Browser, Page
from humaneval.simulated.links import follow_links
from humaneval.store.engine import reading
from humaneval.store.tables import HitRow
from humaneval.study.stored import open_study, study_key
from tests.fixtures import signed
from tests.integration.link.people import LinkStudy, panel

OF_HITS = re.compile(r"\bHITs?\b|worker id|marketplace|accept|return", re.I)
"""What nobody who comes by link should read."""
OF_MONEY = re.compile(r"\$|\bpays\b|reward|0\.00", re.I)
"""What nobody should read who is not paid."""


def words(page: Page) -> str:
    """What a person reads on the page."""
    body = re.sub(r"<(script|style)\b.*?</\1>|<[^>]*>", " ", page.html, flags=re.S)
    return unescape(" ".join(body.split()))


def answers(page: Page) -> dict[str, str]:
    """Consent, and the first sentence of every story."""
    form = page.forms[0]
    return {**form.boxes, **{name: choices[0].value for name, choices in form.choices.items()}}


def seen_by_link(study: LinkStudy, audience: str) -> dict[str, str]:
    """What people read in every state of a link: the opening page, the form, an error, thanks, and so on."""
    invitation = Invitation(audience, f"{audience} link", 4)
    (address,) = study.invite(invitation)
    open_link = address if audience != "panel" else panel(address, "P1", "S1")
    browser, seen = Browser(), {}
    opening = browser.get(open_link)
    form = browser.submit(opening, opening.forms[0], {})
    seen |= {"opening": opening, "form": form}
    seen["missing"] = browser.submit(form, form.forms[0], {})
    seen["thanks"] = browser.submit(form, form.forms[0], answers(form))
    if audience == "panel":
        seen["incomplete"] = Browser().get(address)
        again = Browser().get(panel(address, "P1", "S2"))
        seen["limit"] = Browser().submit(again, again.forms[0], {})
    seen["unknown"] = Browser().get(f"{study.url}/take/none")
    expire_all(open_study_at(study.engine, study.name, study.platform))
    seen["ended"] = Browser().get(address if audience != "panel" else panel(address, "P2", "S2"))
    return {state: words(page) for state, page in seen.items()}


@pytest.mark.parametrize("audience", ["open", "personal", "panel"])
@pytest.mark.parametrize("pay", ["none", "elsewhere"])
def test_X55_who_comes_by_link_reads_nothing_of_hits_and_of_money_only_if_paid(
    sqlite_engine: Engine, by_link: Callable, audience: str, pay: str
) -> None:
    seen = seen_by_link(by_link(sqlite_engine, link={"pay": pay, "completion_code": "C0"}), audience)
    for state, text in seen.items():
        assert not OF_HITS.search(text), (state, text)
        if pay == "none":
            assert not OF_MONEY.search(text), (state, text)
    for state in ("opening", "form", "missing"):
        assert ("It pays $0.80." in seen[state]) == (pay == "elsewhere")
        # What a panel pays is not ours to say.
        assert ("It is not paid." in seen[state]) == (pay == "none" and audience != "panel")
        kept = {
            "open": "if you write one. We",
            "personal": "your personal link",
            "panel": "id at the panel",
        }
        assert [way for way, said in kept.items() if said in seen[state]] == [audience]
        assert "stop at any time by closing the page" in seen[state]


@pytest.mark.parametrize("reward", ["0.80", "0.00"])
def test_X55_a_hit_without_a_reward_promises_none(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk, form_server: Callable, reward: str
) -> None:
    study_factory(sqlite_engine, "study", design={"annotators": 2}, hit={"reward": reward})
    forms = form_server(sqlite_engine)
    at = open_study_at(sqlite_engine, "study", platform)
    plan_hits(at)
    with reading(sqlite_engine) as session:
        hit = session.query(HitRow).one()
    paid, seen = reward != "0.00", {}
    if paid:
        publish_hits(at, public_url=forms.url)
    seen["preview"] = Browser().get(f"{forms.url}/form/{hit.key}")
    form = Browser().get(f"{forms.url}/form/{hit.key}?{signed(hit.secret, 'A1', 'W1')}")
    seen |= {"form": form, "missing": Browser().submit(form, form.forms[0], {})}
    seen["hand-over"] = Browser().submit(form, form.forms[0], answers(form))
    for state, page in seen.items():
        assert (("$0.80" in words(page)) or ("pays you" in words(page))) == paid, state
        assert "$0.00" not in words(page), state
    for state in ("preview", "form"):
        assert ("It is not paid." in words(seen[state])) == (not paid)
        assert "your worker id" in words(seen[state])


def test_X55_a_consent_that_names_the_reward_is_no_consent_for_volunteers(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    study = by_link(sqlite_engine, consent={"text": "You get ${reward} for it."})
    with pytest.raises(UsageError, match=r"consent.text names {reward}, but link.pay = \"none\""):
        study.open_link()
    paid = by_link(
        sqlite_engine, "paid", consent={"text": "You get ${reward} for it."}, link={"pay": "elsewhere"}
    )
    assert "You get $0.80 for it." in words(Browser().get(paid.open_link()))


def test_X28_words_of_the_study_and_the_languages_of_page_and_stories_are_apart(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    own = {"begin": "Los <geht’s>", "limit_link": "Genug: {forms}"}
    study = by_link(sqlite_engine, page={"language": "de", "story_language": "en"}, words=own)
    page = Browser().get(study.open_link())
    assert '<html lang="de">' in page.html
    assert "Los &lt;geht’s&gt;" in page.html
    assert '<span lang="en" dir="auto">Lena found an old key' in page.html
    assert "Welchen Satz dieser Geschichte hat eine Maschine geschrieben?" in words(page)


def test_X28_a_language_without_words_gets_an_english_page_that_says_so(
    sqlite_engine: Engine, by_link: Callable
) -> None:
    settings = {"language": "id", "question": "Kalimat mana yang ditulis mesin?"}
    page = Browser().get(by_link(sqlite_engine, page=settings).open_link())
    assert '<html lang="en">' in page.html
    assert '<span lang="id" dir="ltr">Kalimat mana yang ditulis mesin?</span>' in page.html
    assert '<span lang="en" dir="auto">Lena found an old key' in page.html
    form = Browser().submit(page, page.forms[0], {})
    assert form.html.count('<span lang="id" dir="auto">') == 4 * 5
    some = by_link(sqlite_engine, "some", page={"language": "fa"}, words={"begin": "شروع"})
    page = Browser().get(some.open_link())
    assert '<html lang="fa" dir="rtl">' in page.html
    assert ">شروع</button>" in page.html
    assert '<span lang="en" dir="ltr">About this study</span>' in page.html


def test_X28_simulated_annotators_need_no_english_words(sqlite_engine: Engine, by_link: Callable) -> None:
    study = by_link(sqlite_engine, page={"language": "ar", "story_language": "en"})
    key = study_key(open_study(sqlite_engine, "study"))
    worked = follow_links(Crowd(4, Skills()), [study.open_link()], key)
    assert worked.submitted == 4
    assert study.states() == {"answered": 4}
