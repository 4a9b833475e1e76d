"""A question of one's own is a module and a folder: the one that docs/questions.md shows, word for word."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from humaneval.conformance import tried
from humaneval.crowd.endpoints import link
from humaneval.crowd.form_page import render
from humaneval.crowd.link import Link, open_invitation
from humaneval.crowd.question_rules import PAGES
from humaneval.errors import InputError
from humaneval.scoring.questions.conformance import RULES, Trial
from humaneval.scoring.questions.question import load_question
from humaneval.settings import Settings
from humaneval.simulated import Skills, crowd_for, follow_links
from humaneval.study.create import create_study
from humaneval.study.scores import collected
from humaneval.study.stored import open_study, study_key
from humaneval.web.app import create_app, running
from tests.commands import Command
from tests.conftest import ROOT
from tests.integration.link.people import LinkStudy
from tests.integration.test_questions import fill, read, stories_of

PAGE = ROOT / "docs" / "questions.md"
URL = "http://localhost:8730"
FILES = ["whose.py", "whose/passage.html", "whose/words/en.toml", "pyproject.toml"]
SKILLS = Skills(by_generator={"control": 1.0, "human": 0.0, "ilm": 0.3, "lm": 0.9})


@pytest.fixture
def whose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package, as pip would install it."""
    blocks = re.findall(
        r"^```(?:python|jinja|toml)\n# (\S+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S
    )
    assert [name for name, _ in blocks] == FILES
    package = tmp_path / "package"
    for name, text in blocks:
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text, encoding="utf-8")
    groups = tomllib.loads((package / FILES[3]).read_text())["project"]["entry-points"]
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in of.items())
        for group, of in groups.items()
    )
    info = package / "humaneval_whose-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: humaneval-whose\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(package)
    yield package
    load_question.cache_clear()
    sys.modules.pop("whose", None)


def test_a_fifth_question_has_fewer_than_150_lines_and_keeps_every_rule(
    whose: Path, command: Command
) -> None:
    lines = sum((whose / name).read_text(encoding="utf-8").count("\n") for name in FILES[:3])
    assert lines < 150
    assert [
        one for one in tried(Trial("whose", load_question("whose"), {}), {**RULES, **PAGES}) if one.wrong
    ] == []
    listed = command("questions", "list", "--json").json
    assert [one["question"] for one in listed] == ["detect", "prefer", "rate", "boundary", "whose"]
    assert "keeps all 16 rules" in command("questions", "check", "whose").out


def test_a_fifth_question_is_asked_collected_and_scored(whose: Path, sqlite_engine: Engine) -> None:
    fill(sqlite_engine, stories_of(6, 24))
    create_study(sqlite_engine, "study", read("whose", annotators=24), "")
    study = open_study(sqlite_engine, "study")
    with running(create_app(Settings(), sqlite_engine)) as port:
        url = f"http://localhost:{port}"
        up = LinkStudy(sqlite_engine, "study", url, Link(link(url), sqlite_engine, pay="none"))
        (address,) = up.invite(open_invitation())
        people = crowd_for(study, 24, SKILLS, careless=0.2, seed=4)
        assert follow_links(people, [address], study_key(study)) == (24, 0)
        found = up.collect()
    assert (found.submissions, found.responses, found.differences) == (24, 4 * 24, ())
    assert set(collected(study).frame["question"]) == {"whose"}
    table = collected(study).table()
    scores = {row.generator: row.score for row in table.scores}
    assert scores["control"] == 0 < scores["lm"] < scores["ilm"] < 0.7
    assert table.scale.title == "% taken for a person's"
    assert table.annotators.excluded > 0


def test_a_study_whose_question_is_gone_is_told_at_the_start_and_its_page_is_whole(
    whose: Path, sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fill(sqlite_engine, stories_of(6, 24))
    create_study(sqlite_engine, "study", read("whose", annotators=24), "")
    up = LinkStudy(sqlite_engine, "study", URL, Link(link(URL), sqlite_engine, pay="none"))
    (address,) = up.invite(open_invitation())
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each != str(whose)])
    load_question.cache_clear()
    sys.modules.pop("whose", None)
    client = create_app(Settings(), sqlite_engine).test_client()
    assert "Study study cannot be shown: there is no question 'whose'" in caplog.text
    assert "install its package" in caplog.text
    page = client.get(address.removeprefix(URL))
    assert page.status_code == 500
    assert "</html>" in page.text
    assert "Something went wrong" in page.text


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (
            "passage.html",
            "{% endmacro %}",
            "{% if %}",
            r"TemplateSyntaxError: .* \(passage.html, line 6\)",
        ),
        ("passage.html", "{% macro", "{{ nothing }}{% macro", r"undefined \(passage.html, line 2\)"),
        ("words/en.toml", "person =", "person = =", "en.toml is no TOML: "),
        ("words/en.toml", 'person = "A', 'person = 3 # "', "en.toml: person is a value of type int"),
        ("words/en.toml", "title =", "titel =", "words/en.toml has no title"),
    ],
)
def test_a_page_that_cannot_be_made_names_its_question(
    whose: Path, file: str, old: str, new: str, said: str
) -> None:
    path = whose / "whose" / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=f"whose.*{said}"):
        render("form.html", read("whose"), "task", root="/", form=None, delivery=None)
