"""The infilling page in a browser, over a checkpoint trained in the tests: by keyboard, by mouse, without
script."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Frame, Page, expect

from humaneval.infills.free_text import alone, named_offers
from humaneval.web.app import running
from humaneval.web.infilling import Desk, create_app

models = pytest.importorskip("tests.models.conftest", reason="needs torch: pip install -e '.[models]'")
bundled, tokenizer, special = models.bundled, models.tokenizer, models.special
corpus, checkpoints = models.corpus, models.checkpoints
Axe = Callable[[Page | Frame], list[str]]


@pytest.fixture
def address(checkpoints: dict[str, Path]) -> Iterator[str]:
    """The page over an ILM, an LM and the control."""
    offers = [*named_offers("", [str(checkpoints["ilm"]), str(checkpoints["lm"])]), alone()]
    with running(create_app(Desk(offers, device="cpu"))) as port:
        yield f"http://127.0.0.1:{port}/"


def fill(page: Page, count: int) -> None:
    """Ask for candidates, and wait for them."""
    page.get_by_role("button", name="Fill the blanks").press("Enter")
    expect(page.get_by_role("status")).to_contain_text(f"{count} candidates")


def test_by_keyboard_a_text_is_typed_a_blank_marked_and_a_candidate_chosen(
    page: Page, address: str, axe: Axe
) -> None:
    page.goto(address)
    page.get_by_role("button", name="Edit the text").press("Enter")
    box = page.get_by_label("Text with blanks")
    expect(box).to_be_focused()
    expect(box).to_have_value("Anna came home late. ____ She slept until noon.")
    box.fill("Tom has a dog. It is old.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    options = page.get_by_role("listbox", name="Your text").get_by_role("option")
    expect(options).to_have_count(9)
    expect(options.first).to_be_focused()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", " "):  # Tom has a [dog]
        page.keyboard.press(key)
    blank = options.and_(page.locator("[aria-selected=true]"))
    expect(blank).to_have_attribute("aria-label", "blank for a word, was: dog")
    expect(blank).to_be_focused()
    for key in ("ArrowRight", "ArrowRight", "Shift+ArrowRight", "Enter"):  # [It is] old.
        page.keyboard.press(key)
    expect(blank).to_have_count(2)
    expect(blank.nth(1)).to_have_attribute("aria-label", "blank for several words, was: It is")
    assert axe(page) == []
    fill(page, 3)
    candidates = page.get_by_role("listitem")
    expect(candidates).to_have_count(3)
    expect(candidates.first).to_contain_text("log-probability −")
    assert axe(page) == []
    chosen = candidates.nth(1)
    written = chosen.locator("mark").all_inner_texts()
    chosen.get_by_role("radio").press(" ")
    expect(page.get_by_role("status")).to_have_text("Candidate 2 of ilm is in your text.")
    expect(page.locator("#units .filling").first).to_have_text(written[0] or "(nothing)")
    assert axe(page) == []
    page.get_by_role("button", name="Keep this text").press("Enter")
    expect(page.get_by_role("status")).to_contain_text("is your text now")
    expect(blank).to_have_count(0)


def test_by_mouse_several_generators_write_side_by_side(
    visit: Callable[..., Page], address: str, axe: Axe
) -> None:
    page = visit(color_scheme="dark", viewport={"width": 320, "height": 700})
    page.goto(f"{address}?story=he-145")
    words = page.get_by_role("listbox", name="Your text").get_by_role("option")
    selected = words.and_(page.locator("[aria-selected=true]"))
    expect(selected).to_have_count(1)
    selected.click()  # puts the sentence back
    expect(selected).to_have_count(0)
    words.nth(1).hover()
    page.mouse.down()
    words.nth(3).hover()
    page.mouse.up()
    expect(selected).to_have_attribute("aria-label", "blank for several words, was: opened the kiln")
    page.get_by_role("button", name="Put everything back").click()
    page.get_by_text("Sentences", exact=True).click()
    expect(words).to_have_count(5)
    words.nth(4).click()
    page.get_by_role("checkbox", name="lm fills a sentence", exact=True).check()
    page.get_by_role("checkbox", name="control").check()
    page.get_by_role("spinbutton", name="Candidates").fill("2")
    fill(page, 5)
    expect(page.get_by_role("heading", level=3)).to_have_text(["ilm", "lm", "control"])
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert axe(page) == []


def test_without_script_a_plain_form_lists_candidates(visit: Callable[..., Page], address: str) -> None:
    page = visit(java_script_enabled=False)
    page.goto(address)
    page.get_by_label("Text with blanks").fill("Tom has a [word]. ____")
    page.get_by_role("button", name="Fill the blanks").click()
    expect(page.get_by_role("listitem")).to_have_count(3)
    expect(page.get_by_role("listitem").first).to_contain_text("Tom has a ")
    expect(page.get_by_label("Text with blanks")).to_have_value("Tom has a [word]. ____")
    assert page.context.cookies() == []
