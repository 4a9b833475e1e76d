"""Requests to the server, the use of its answers, and that no request is made twice."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from generators.sampling.prompts import messages_for
from generators.sampling.replies import clean, parse
from humaneval.domain import Blank, Filling, Gap, GappedText, InfillStatus, Story
from humaneval.errors import InputError, UsageError
from humaneval.infills.generate import run
from humaneval.store.stories import add_stories
from humaneval.stories import bundled_stories
from tests.integration.endpoint.played import (
    KEY,
    Asked,
    Build,
    PlayedServer,
    Says,
    answers,
    chat,
    completion,
    error,
    good,
)

STORY = Story(
    "s1", ("Ann baked a cake.", "It rose well.", "She let it cool.", "Her son came.", "They ate it.")
)
TWO = GappedText("t", ("Ann came. ", " She sat. ", ""), (Gap(), Gap("ngram", max_words=4)))
OK = InfillStatus.OK


@pytest.fixture(scope="module")
def blanks() -> list[Blank]:
    return [Blank(story, position) for story in bundled_stories()[:5] for position in (1, 3, 5)]


ONE = GappedText("t", ("Ann came. ", " She sat."), (Gap(),))
Fill = Callable[..., tuple[Filling, ...]]


@pytest.fixture
def fill(build: Build, server: PlayedServer) -> Fill:
    """The fillings of a text by a server that passes the trial, then gives these replies in turn."""

    def run(*says: Says, text: GappedText = ONE, kind: str = "chat", **options: Any) -> tuple[Filling, ...]:
        server.play = good
        generator = build(kind, **options)
        given = iter(says)
        server.play = lambda asked: next(given)
        return next(generator.fill([text]))

    return run


def test_G38_one_request_asks_for_all_blanks_of_a_text_and_tells_what_belongs_in_each(
    build: Build, server: PlayedServer
) -> None:
    gaps = (Gap(min_words=3, max_words=9, beginning="Then"), Gap("word"))
    (filled,) = build(temperature="0.7", max_tokens="99").fill(
        [GappedText("t", ("Ann came. ", " ", ""), gaps)]
    )
    (asked,) = server.stories
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["Authorization"] == f"Bearer {KEY}"
    assert (asked.body["model"], asked.body["temperature"], asked.body["max_tokens"]) == ("tiny", 0.7, 99)
    system, user = (message["content"] for message in asked.body["messages"])
    assert "JSON list" in system
    assert (
        user
        == "[blank 1]: exactly one sentence, of 3 to 9 words, which begins with: Then\n[blank 2]: exactly one"
        " word\n\nThe text:\n\nAnn came. [blank 1] [blank 2]"
    )
    assert [filling.extra["tries"] for filling in filled] == [1, 1]


def test_answers_keep_the_order_of_the_blanks_whatever_the_server_takes(
    build: Build, server: PlayedServer, blanks: list[Blank]
) -> None:
    def play(asked: Asked) -> Says:
        says = good(asked)
        return says._replace(slow=asked.body["seed"] % 7 / 100)

    server.play = play
    infills = list(build(parallel="8").infill(blanks))
    assert [infill.blank for infill in infills] == blanks
    numbers = {infill.text: infill.blank for infill in infills}
    seeds = [asked.body["seed"] for asked in server.stories]
    assert sorted(numbers) == sorted(f"It was number {seed} of 0." for seed in seeds)


def test_G17_what_a_blank_gets_depends_on_neither_batch_nor_order(
    build: Build, blanks: list[Blank], tmp_path: Path
) -> None:
    together = {infill.blank: infill.text for infill in build().infill(blanks)}
    elsewhere = build(cache=str(tmp_path / "other"), batch="2", parallel="1")
    assert {infill.blank: infill.text for infill in elsewhere.infill(blanks[::-1])} == together
    other = {infill.blank: infill.text for infill in build(seed=1).infill(blanks)}
    assert not set(other.values()) & set(together.values())


def test_nothing_is_asked_twice_and_offline_the_cache_alone_answers(
    build: Build, server: PlayedServer, blanks: list[Blank]
) -> None:
    first = list(build().infill(blanks[:6]))
    count = len(server.asked)
    assert list(build().infill(blanks[:6])) == first
    assert len(server.asked) == count
    server.stop()
    assert list(build(offline="on").infill(blanks[:6])) == first
    with pytest.raises(InputError, match=r"offline, and the cache .* has no answer of tiny"):
        list(build(offline="on").infill(blanks[:7]))


@pytest.mark.parametrize("kind", ["chat", "completions"])
def test_offline_with_an_empty_cache_nothing_is_written_that_a_later_run_would_pass_over(
    kind: str, build: Build, server: PlayedServer
) -> None:
    with pytest.raises(InputError, match="offline, and the cache"):
        build(kind, offline="on")
    assert not server.asked


def test_a_run_into_the_database_goes_on_after_the_server_went_down(
    build: Build, server: PlayedServer, engine: Engine
) -> None:
    stories = bundled_stories()[:8]
    add_stories(engine, stories)
    todo = [Blank(story, position) for story in stories for position in (1, 2, 3, 4, 5)]
    reached = []

    def breaks(asked: Asked) -> Says:
        reached.append(asked)
        return good(asked) if len(reached) <= 25 else error(503, "overloaded")

    generator = build(parallel="1", batch="4")
    server.play = breaks
    with pytest.raises(
        InputError, match=r"no answer from .* in 1 try: it answers 503 \(overloaded\)"
    ) as caught:
        run(engine, generator, todo)
    assert "are kept, and the same command continues" in caught.value.hint
    server.play = good
    before = len(server.asked)
    # What came before the fault is stored; of the rest, what was answered is in the cache.
    assert run(engine, build(batch="4"), todo).written == {"ok": 24}
    assert len(server.asked) - before == 40 - 25


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('["One."]', ""),
        ('{"blanks": ["One."]}', ""),
        ('```json\n["One."]\n```', ""),
        ('<think>Hm, ["no"].</think>\n["One."]', ""),
        ("One.", "not JSON"),
        ('Sure! ["One."]', "not JSON"),
        ('["One.", "Two."]', "2 strings, not 1"),
        ("[1]", "not a list of strings"),
        ('{"blanks": ["One."], "note": ""}', "not a list of strings"),
        ('"One."', "not a list of strings"),
        ("[" * 100_000, "not JSON"),
        ("", "not JSON"),
    ],
)
def test_G40_a_reply_is_a_list_of_strings_or_none_at_all(text: str, fault: str) -> None:
    assert parse(text, 1) == (["One."] if not fault else [], fault)


def test_G40_a_reply_out_of_form_is_asked_for_once_more_with_the_complaint(
    fill: Fill, server: PlayedServer
) -> None:
    (filling,) = fill(chat("Ann sat down."), answers("She sang."))
    assert (filling.text, filling.status, filling.extra["second_try"]) == ("She sang.", OK, True)
    complaint = server.asked[-1].body["messages"]
    assert [message["role"] for message in complaint] == ["system", "user", "assistant", "user"]
    assert "not JSON" in complaint[-1]["content"]
    fillings = fill(answers("One."), chat("no"), text=TWO)
    assert [f.status for f in fillings] == [InfillStatus.ERROR] * 2
    assert fillings[0].detail == "the reply cannot be used: not JSON"


@pytest.mark.parametrize(
    ("answer", "text", "flags"),
    [
        ("She sang.", "She sang.", set()),
        ("Ann came. She sang.", "She sang.", {"trimmed"}),
        ("Rain fell. Ann came. She sang. She sat.", "She sang.", {"trimmed"}),
        ("She sang. She sat. It was.", "She sang.", {"trimmed"}),
        ("Ann came.", "Ann came.", set()),
        ("Ann came.Bo sang.", "Bo sang.", {"trimmed"}),
        ("Blank 1: She sang.", "She sang.", {"unlabelled"}),
        ("[blank 1]: “She sang.”", "She sang.", {"unlabelled", "unquoted"}),
        ('"Yes," she sang, "yes."', '"Yes," she sang, "yes."', set()),
        ("Blank faces met her.", "Blank faces met her.", set()),
        ('"', '"', set()),
    ],
)
def test_G40_what_an_answer_repeats_or_adds_is_cut_and_said(answer: str, text: str, flags: set[str]) -> None:
    cleaned = clean(answer, "Rain fell. Ann came. ", " She sat. It was.")
    assert (cleaned.text, set(cleaned.flags)) == (text, flags)


def test_flags_and_statuses_reach_the_infill(fill: Fill) -> None:
    (filling,) = fill(answers("Ann came. She sang."))
    assert (filling.text, filling.extra["trimmed"]) == ("She sang.", True)
    cases = (
        (chat('["She', "length"), InfillStatus.CUT, "no end within max_tokens"),
        (chat("", "content_filter"), InfillStatus.REFUSED, "the server's content filter"),
        (chat(None, refusal="I cannot."), InfillStatus.REFUSED, "I cannot."),
        (
            error(400, "Filtered.", "content_filter"),
            InfillStatus.REFUSED,
            "the server answers 400: Filtered.",
        ),
        (error(400, "Odd.", "strange"), InfillStatus.ERROR, "the server answers 400: Odd."),
        (answers(""), InfillStatus.EMPTY, ""),
        (answers("One. Two."), InfillStatus.SEVERAL_SENTENCES, "2 sentences"),
    )
    for seed, (says, status, detail) in enumerate(cases, 1):
        (filling,) = fill(says, seed=seed)
        assert (filling.status, filling.detail) == (status, detail)


def test_G10_a_word_where_a_word_is_wanted_else_the_status_says_so(fill: Fill) -> None:
    text = GappedText("w", ("Ann came ", "."), (Gap("word", max_words=1),))
    assert fill(answers("home"), text=text)[0].status is OK
    (filling,) = fill(answers("all the way home"), text=replace(text, key="w2"))
    assert (filling.status, filling.detail) == (InfillStatus.FILTERED, "4 words, not at most 1")


def test_G11_keywords_are_refused_not_passed_over(build: Build) -> None:
    with pytest.raises(UsageError, match="has no option keywords"):
        build(keywords="cake")


def test_G14_a_model_that_cannot_reply_in_the_form_asked_for_is_refused_at_once(
    build: Build, server: PlayedServer
) -> None:
    server.play = lambda asked: chat("I am not an instruct model")
    with pytest.raises(
        InputError, match=r"tiny at http.* cannot be used: the reply cannot be used: not JSON"
    ):
        build()
    assert len(server.asked) == 6


def test_marks_are_never_taken_from_the_text_itself() -> None:
    text = GappedText("t", ("Write [blank 1] and [[blank 2]]. ", ""), (Gap(),))
    assert messages_for(text)[1]["content"].endswith("Write [blank 1] and [[blank 2]]. [[[blank 1]]]")


def test_G37_suffix_is_used_where_the_server_uses_it(build: Build, fill: Fill, server: PlayedServer) -> None:
    generator = build("completions")
    assert generator.provenance.settings["asks"] == "prompt and suffix"
    assert not generator.several
    (infill,) = generator.infill([Blank(STORY, 2)])
    assert infill.text == "He met a friend."
    body = server.asked[-1].body
    assert server.asked[-1].path == "/v1/completions"
    assert (body["prompt"], body["suffix"]) == (STORY.sentences[0], " " + " ".join(STORY.sentences[2:]))
    (filling,) = fill(
        completion(" she sang", "length"),
        text=replace(ONE, gaps=(Gap(beginning="Then"),)),
        kind="completions",
    )
    assert server.asked[-1].body["prompt"] == "Ann came. Then"
    assert (filling.text, filling.status) == ("Then she sang", InfillStatus.CUT)


@pytest.mark.parametrize(
    ("says", "words"),
    [
        (error(400, "suffix is not currently supported"), r"refuses suffix \(400\)"),
        (error(404, "no such route"), r"refuses suffix \(404\)"),
        (completion(" Anna"), "ignores suffix"),
    ],
)
def test_G37_where_suffix_is_refused_or_ignored_that_is_said_and_nothing_is_written(
    says: Says, words: str, build: Build, server: PlayedServer
) -> None:
    server.play = lambda asked: says if asked.path == "/v1/completions" else good(asked)
    with pytest.raises(InputError, match=f"{words}: tiny would not see what follows") as refusal:
        build("completions")
    assert "--generator chat" in refusal.value.hint
    server.stop()
    with pytest.raises(InputError, match=words):  # the cache knows
        build("completions")


def test_provenance_names_server_model_and_settings_and_never_the_key(
    build: Build, tmp_path: Path, server: PlayedServer, blanks: list[Blank]
) -> None:
    generator = build(seed=3)
    infills = list(generator.infill(blanks))
    provenance = generator.provenance
    assert provenance.kind == "chat"
    assert provenance.checkpoint == f"{server.url} tiny"
    assert provenance.settings["temperature"] == 1.0
    assert provenance.versions["model"] == "tiny-2026-01-01"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", provenance.batch["date"])
    assert KEY not in repr(generator) + repr(infills) + repr(provenance)
    assert all(KEY.encode() not in file.read_bytes() for file in (tmp_path / "kept").iterdir())
    json.dumps([dict(provenance.settings), dict(provenance.batch), dict(provenance.versions)])
