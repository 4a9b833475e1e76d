"""Code of other packages that does what it should not: one line names it, nothing of it is stored, and a JSON
document stays one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from humaneval.domain import GeneratorRequest, Role
from humaneval.errors import InputError
from humaneval.infills.blanks import blanks_of
from humaneval.infills.generate import run
from humaneval.infills.processing import STEPS, Form
from humaneval.kinds import build, recogniser
from humaneval.scoring.questions.question import Truth, load_question
from humaneval.store.stories import add_stories
from humaneval.stories import bundled_stories
from tests.commands import Command
from tests.integration.test_generation import stored

Install = Callable[..., None]

GENERATOR = """
import sys
from humaneval.domain import Infill, InfillStatus, Provenance

class Theirs:
    name, provenance = "theirs", Provenance("theirs")
    def infill(self, blanks):
        {infill}


def build(request):
    {build}
    return [Theirs()]
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a package, as pip would: its only module `theirs`, and the entry points that lead there."""
    package = tmp_path / "package"
    information = package / "theirs-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(package)

    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(source: str, **points: str) -> None:
        sys.modules.pop("theirs", None)
        (package / "theirs.py").write_text(source, encoding="utf-8")
        (information / "entry_points.txt").write_text(
            "".join(f"[humaneval.{group}]\ntheirs = {target}\n" for group, target in points.items())
        )

    yield write
    sys.modules.pop("theirs", None)
    load_question.cache_clear()


def generator(install: Install, *, infill: str = "return iter(())", build: str = "pass") -> None:
    install(GENERATOR.format(infill=infill, build=build), generators="theirs:build")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("return None", "theirs:build returned nothing instead of a list of generators"),
        ("return []", "returned an empty list"),
        ("return Theirs()", "returned a value of type Theirs instead of a list"),
        ("return ['theirs']", "returned a value of type str, which lacks a name"),
        ("Theirs.name = None", "a generator whose name is no str"),
        ("Theirs.provenance = {}", "whose provenance is no Provenance"),
        ("Theirs.provenance = Provenance('theirs', seed='one')", "whose seed is no int"),
        (
            "Theirs.provenance = Provenance('theirs', settings={'a': {1}})",
            "a provenance that is no JSON",
        ),
        ("sys.exit(0)", r"generator 'theirs' raised SystemExit: 0 \(theirs.py, line 12\)"),
        ("1 / 0", r"raised ZeroDivisionError: division by zero \(theirs.py, line 12\)"),
    ],
)
def test_a_function_that_builds_no_generator_is_named(install: Install, source: str, said: str) -> None:
    generator(install, build=source)
    with pytest.raises(InputError, match=said) as caught:
        build(GeneratorRequest("theirs"))
    assert "'theirs'" in caught.value.message


NO_INFILLS = {
    "return None": "returned nothing instead of infills",
    "return ['It rained.'] * 99": "returned a value of type str instead of an infill for",
    "return [Infill(None, 'It rained.')]": "an infill for nothing instead of",
    "return [Infill(blanks[0], 5)]": "an infill whose text is a value of type int instead of str for",
    "return [Infill(blanks[0], 'A.', 'ok')]": "whose status is a value of type str instead of InfillStatus",
    "return [Infill(blanks[0], 'A.', detail=None)]": "whose detail is nothing instead of str",
    "return [Infill(blanks[0], 'A.', extra=[1])]": "whose extra is a value of type list instead of Mapping",
    "return [Infill(blanks[0], 'A.', extra={'a': {1}})]": "whose extra is no JSON: .*type set",
    "yield from sys.exit(0)": "raised SystemExit: 0",
    "yield from blanks[0].no_such": "raised AttributeError: .*no_such",
    "yield": "returned nothing instead of an infill",
}


@pytest.mark.parametrize("form", [Form(), Form(tuple(STEPS)), Form(draws=2), Form(rest=True)])
def test_what_is_no_infill_is_not_stored_and_its_generator_is_named(
    install: Install, sqlite_engine: Engine, form: Form
) -> None:
    stories = bundled_stories()[:2]
    add_stories(sqlite_engine, stories)
    for source, said in NO_INFILLS.items():
        generator(install, infill=source)
        (made,) = form.of(build(GeneratorRequest("theirs")), stories)
        with pytest.raises(InputError, match=said) as caught:
            run(sqlite_engine, made, blanks_of(stories, (2,)))
        assert caught.value.message.startswith("generator 'theirs' r")
    assert stored(sqlite_engine) == []


def test_a_package_that_ends_the_program_or_prints_spoils_no_document(
    install: Install,
    command: Command,
    sqlite_engine: Engine,
    sqlite_database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    add_stories(sqlite_engine, bundled_stories()[:2])
    verb = ("generate", "--generator", "theirs", "--positions", "2", "--json")
    generator(install, build="print('Loading')\n    sys.exit(0)")
    ended = command(*verb)
    assert (ended.code, ended.err.splitlines()[0]) == (1, "Loading")
    assert ended.json["error"]["message"].startswith("generator 'theirs' raised SystemExit: 0")
    generator(
        install,
        infill="yield from (print('blank') or Infill(blank, 'A.') for blank in blanks)",
        build="print('Loading')",
    )
    said = command(*verb)
    assert said.json == [{"generator": "theirs", "written": {"ok": 2}, "already_there": 0}]
    assert [line for line in said.err.splitlines() if line in ("Loading", "blank")] == [
        "Loading",
        "blank",
        "blank",
    ]


def test_checking_and_listing_kinds_of_generators_outlives_their_packages(
    install: Install, command: Command
) -> None:
    generator(install, infill="sys.exit(0)")
    checked = command("generators", "check", "theirs", "--json")
    assert checked.code == 1
    assert {"rule": "streaming", "kept": False, "why": "raised SystemExit: 0"} in checked.json["rules"]
    install("", generators="no_package.theirs:build")
    listed = command("generators", "list", "--json").json
    assert {"kind": "theirs", "package": "theirs", "file": None} in listed


@pytest.mark.parametrize("source", ["def look(folder):\n    return 'ilm'\n", "raise SystemExit\n"])
def test_a_function_that_tells_checkpoints_is_named_if_it_does_not(
    install: Install, tmp_path: Path, source: str
) -> None:
    install(source, checkpoints="theirs:look")
    with pytest.raises(
        InputError, match=r"theirs.* instead of a Recognised|checkpoints 'theirs' raised SystemExit"
    ):
        recogniser()(tmp_path)


QUESTION = """
import sys
from humaneval.scoring.questions.question import CHOICE, AnswerField, Question, Scale

class Theirs(Question):
    name, summary = "theirs", "Is it good?"
    def fields(self, settings, sentences):
        return (AnswerField(CHOICE, 2),)
    def scales(self, settings, sentences):
        return (Scale("", 0, 1, "% good", "more people liked it", binary=True),)
    def outcomes(self, truth, answer, scale, settings):
        return (float(answer[CHOICE] == 1),)
    def {method}(self, *told):
        {body}
"""
TRUTH = Truth(("lm",), Role.SYSTEM, 3, 5, "control")


@pytest.mark.parametrize(
    ("method", "told", "body", "said"),
    [
        ("outcomes", (TRUTH, {}, "", {}), "return None", "returned nothing"),
        ("outcomes", (TRUTH, {}, "", {}), "return [float('nan')]", "returned nan among its values"),
        ("outcomes", (TRUTH, {}, "", {}), "return ['1']", "returned '1' among its values"),
        ("outcomes", (TRUTH, {}, "", {}), "return (1.0, 0.0)", "returned 2 numbers for 1 generators"),
        ("outcomes", (TRUTH, {}, "", {}), "sys.exit(0)", r"raised SystemExit: 0 \(theirs.py, line 14\)"),
        ("fields", ({}, 5), "return ()", "returned nothing"),
        ("fields", ({}, 5), "return ['choice']", "returned 'choice' among its values"),
        ("scales", ({}, 5), "return 'good'", "returned a value of type str"),
        ("settings", ({},), "return 1 / 0", "raised ZeroDivisionError: division by zero"),
        ("words", (None, {}, 5), "return 'good'", "returned a value of type str"),
    ],
)
def test_a_question_that_says_nothing_of_use_is_named(
    install: Install, method: str, told: tuple[object, ...], body: str, said: str
) -> None:
    install(QUESTION.format(method=method, body=body), questions="theirs:Theirs")
    with pytest.raises(InputError, match=f"^question 'theirs'.* {said}"):
        getattr(load_question("theirs"), method)(*told)


@pytest.mark.parametrize(
    "source", ["def (", "Theirs = 1 / 0", "Theirs = dict", "import sys; sys.exit(0)", ""]
)
def test_a_question_that_cannot_be_loaded_is_named(
    install: Install, command: Command, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    install(source, questions="theirs:Theirs")
    said = command("questions", "check", "theirs")
    assert (said.code, len(said.err.splitlines())) == (1, 2)
    assert said.err.startswith("Error: question 'theirs'")


@pytest.mark.parametrize("source", ["def (", "theirs = 1 / 0", "theirs = 5", "raise SystemExit", ""])
def test_a_verb_that_cannot_be_loaded_is_named_and_help_is_whole(
    install: Install, command: Command, source: str
) -> None:
    install(source, commands="theirs:theirs")
    said = command("theirs", "--json")
    assert (said.code, len(said.err.splitlines())) == (1, 2)
    assert said.json["error"]["message"].startswith("the verb 'theirs'")
    assert "See humaneval theirs --help." in command("--help").out
