"""Nothing that is served says who wrote what: not by a name, a role, a hash, an order or the shape of the
markup."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

import pytest
from sqlalchemy import Engine, select
from werkzeug.test import Client

from humaneval.crowd.form_of_row import form_of
from humaneval.crowd.form_page import Delivery, html_question, render_form
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import open_study_at
from humaneval.domain import POSITIONS, GeneratorRequest, Story
from humaneval.infills.blanks import blanks_of
from humaneval.infills.generate import run
from humaneval.kinds import build
from humaneval.settings import Settings
from humaneval.store.engine import open_engine, reading
from humaneval.store.stories import add_stories
from humaneval.store.tables import HitRow, InfillRow, PassageRow, RowRow
from humaneval.study.create import create_study
from humaneval.study.file import read_study_file
from humaneval.study.stored import get_study
from humaneval.web.app import create_app
from tests.fixtures import EXAMPLES, signed

ROWS = 8
SOURCES = (("control", ""), ("human", ""), ("replay", "example-good"), ("replay", "example-poor"))


@dataclass(frozen=True)
class Labels:
    """What the generators of SOURCES are called, and which of them are the control and the human."""

    names: tuple[str, str, str, str]
    control: int
    human: int


PLAIN = Labels(("control", "human", "example-good", "example-poor"), 0, 1)
OTHER = Labels(("qx-first", "qx-second", "qx-third", "qx-fourth"), 3, 2)


@pytest.fixture
def serve(
    sqlite_template: Path, tmp_path: Path, stories: tuple[Story, ...], platform: MTurk
) -> Iterator[Callable[[Labels], tuple[Engine, list[str]]]]:
    """Every page of a study under given labels, tokens and keys masked, and the database behind it."""
    engines: list[Engine] = []

    def pages(labels: Labels) -> tuple[Engine, list[str]]:
        file = tmp_path / f"{len(engines)}.db"
        shutil.copy(sqlite_template, file)
        engine = open_engine(f"sqlite:///{file}")
        engines.append(engine)
        _make_study(engine, stories, labels)
        plan_hits(open_study_at(engine, "study", platform))
        return engine, [*_server_pages(engine, platform), *_static_pages(engine)]

    yield pages
    for engine in engines:
        engine.dispose()


def _make_study(engine: Engine, stories: tuple[Story, ...], labels: Labels) -> None:
    add_stories(engine, stories)
    blanks = blanks_of(stories, POSITIONS)
    for (kind, picked), name in zip(SOURCES, labels.names, strict=True):
        options = {"generator": picked} if picked else {}
        request = GeneratorRequest(
            kind, name=name, checkpoint=str(EXAMPLES) if picked else "", options=options
        )
        for generator in build(request):
            run(engine, generator, blanks)
    design = {
        "generators": list(labels.names),
        "control": labels.names[labels.control],
        "human": labels.names[labels.human],
        "annotators": ROWS,
        "seed": 5,
    }
    create_study(engine, "study", *read_study_file(None, overrides={"design": design}))


def _server_pages(engine: Engine, platform: MTurk) -> Iterator[str]:
    with reading(engine) as session:
        hit = session.scalars(select(HitRow).order_by(HitRow.id).limit(1)).one()
    key = hit.key
    client = Client(create_app(Settings(market_url=platform.endpoint.api_url), engine))

    def masked(response: object) -> str:
        text = response.text.replace(key, "KEY")
        text = re.sub(r'(name="token" value=)"[^"]+"', r'\1"TOKEN"', text)
        return f"{response.status} {response.headers} {text}"

    yield masked(client.get(f"/form/{key}"))
    yield masked(client.get(f"/form/{key}?assignmentId=A&workerId=W"))
    for number in range(ROWS):
        response = client.get(f"/form/{key}?{signed(hit.secret, f'A{number}', f'W{number}')}")
        yield masked(response)
        fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', response.text))
        yield masked(client.post(f"/form/{key}", data={**fields, "choice-2": "4"}))
        every = {f"choice-{place}": "1" for place in range(1, len(SOURCES) + 1)}
        sent = {**fields, **every, "consent": "1"}
        location = client.post(f"/form/{key}", data=sent).headers["Location"]
        yield masked(client.get(urljoin(f"/form/{key}", location)))
    yield masked(client.get(f"/form/{key}?{signed(hit.secret, 'late', 'late')}"))
    for name in ("form.css", "form.js", "handover.js"):
        yield masked(client.get(f"/assets/{name}"))


def _static_pages(engine: Engine) -> Iterator[str]:
    delivery = Delivery(action="https://worker.example/mturk/externalSubmit", static=True)
    with reading(engine) as session:
        study = get_study(session, "study")
        for row in session.scalars(select(RowRow).order_by(RowRow.ordinal)):
            yield html_question(render_form(form_of(session, study, row.id), delivery))


def test_studies_that_differ_in_labels_and_roles_serve_the_same_bytes(
    serve: Callable[[Labels], tuple[Engine, list[str]]],
) -> None:
    _, plain = serve(PLAIN)
    _, other = serve(OTHER)
    assert len(plain) == 2 + 3 * ROWS + 1 + 3 + ROWS
    assert sum("403" in page[:4] for page in plain) == 1
    assert sum("422" in page[:4] for page in plain) == ROWS
    assert sum("Your answers are saved" in page for page in plain) == ROWS
    assert plain == other


def test_no_page_holds_a_name_an_id_or_a_hash_of_an_infill(
    serve: Callable[[Labels], tuple[Engine, list[str]]],
) -> None:
    engine, pages = serve(OTHER)
    everything = "\n".join(pages)
    with reading(engine) as session:
        hashes = set(session.scalars(select(PassageRow.shown_hash)))
        for text in session.scalars(select(InfillRow.text)):
            hashes |= {hashlib.new(kind, text.encode()).hexdigest() for kind in ("sha256", "sha1", "md5")}
        story_ids = {passage.story.key for passage in session.scalars(select(PassageRow))}
    assert hashes
    assert story_ids
    assert not [word for word in (*hashes, *story_ids, *OTHER.names) if word in everything]


def test_the_markup_of_a_machines_sentence_is_that_of_every_sentence(
    serve: Callable[[Labels], tuple[Engine, list[str]]],
) -> None:
    _, pages = serve(PLAIN)
    forms = [page for page in pages if page.startswith("200") and "Story 4 of 4" in page]
    assert len(forms) == ROWS
    for form in forms:
        passages = re.findall(r"<fieldset.*?</fieldset>", form, re.DOTALL)
        shapes = {
            re.sub(r"(?<=auto.>)[^<]*(?=</span></label>)|(?<=-)\d|(?<=Story )\d", "…", p) for p in passages
        }
        assert len(shapes) == 1
        labels = re.findall(r"<label>.*?</label>", passages[0])
        assert len(labels) == 5
        plain = {re.sub(r'(?<=auto.>)[^<]*|(?<=value=")\d| id="[^"]*"', "", label) for label in labels}
        text = '<span lang="en" dir="auto"></span>'
        assert plain == {f'<label><input type="radio" name="choice-1" value="" required>{text}</label>'}
