"""What is written agrees with what is: commands, settings, errors, versions, examples, and the size of
modules."""

from __future__ import annotations

import doctest
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from pydantic import BaseModel

import generators
import humaneval
from humaneval import errors
from humaneval.cli.main import VERBS
from humaneval.errors import HumanEvalError
from humaneval.resources import bundled
from humaneval.settings import ENVIRONMENT, Settings, config_text
from humaneval.study.file import StudyFile
from tests.conftest import ROOT
from tests.docs.write_cli_reference import TARGET, reference

LONGEST = 400
"""Lines of a module."""

MODULES = sorted(
    module.name
    for package in (humaneval, generators)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith("__main__")
)


MODELS = {"torch", "transformers", "safetensors"}


def loaded() -> list[ModuleType]:
    """Every module of ours that can be loaded here: those that need a model's libraries only where these
    are."""
    found = []
    for name in MODULES:
        try:
            found.append(import_module(name))
        except ModuleNotFoundError as error:
            if error.name not in MODELS:
                raise
    return found


def test_the_command_reference_is_what_the_program_says() -> None:
    # In a process of its own: click keeps the help option that a command had at its first use.
    code = "import sys; from tests.docs.write_cli_reference import reference; sys.stdout.write(reference())"
    said = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert TARGET.read_text(encoding="utf-8") == said.stdout, "run `make docs`"


def test_the_command_reference_has_every_verb() -> None:
    text = reference()
    for verb in VERBS:
        assert f"\n## humaneval {verb}\n" in text


def test_the_command_reference_does_not_depend_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    before = reference()
    monkeypatch.setenv("COLUMNS", "40")
    assert reference() == before


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_explained_in_the_file_that_init_writes(name: str) -> None:
    assert re.search(rf"^# {name}( =|:)", config_text(), re.M)
    assert ENVIRONMENT[name][0] in config_text()
    assert str(Settings.model_fields[name].description) in config_text()


def test_the_study_file_that_init_writes_has_every_setting_at_its_default() -> None:
    text = (bundled("bundled") / "study.toml").read_text(encoding="utf-8")
    written = tomllib.loads(text)
    assert written.pop("words") == {}
    assert (written["question"], written["answers"]) == ("detect", {})
    apart = ("words", "question", "answers")
    sections = {name: field for name, field in StudyFile.model_fields.items() if name not in apart}
    for section, field in sections.items():
        model = field.annotation
        assert isinstance(model, type)
        assert issubclass(model, BaseModel)
        behind = set(re.findall(r"(?m)^# (annotators) = 40 ", text)) if section == "design" else set()
        assert set(written[section]) | behind == set(model.model_fields), section
    settings = StudyFile.model_validate(written)
    free = {"generators": settings.design.generators}
    texts = ("instructions", "question", "text", "contact", "title", "description", "keywords", "version")
    for section in sections:
        stated = getattr(settings, section)
        default = type(stated)(**(free if section == "design" else {}))
        differing = {n for n in type(stated).model_fields if getattr(stated, n) != getattr(default, n)}
        assert differing <= set(texts), (section, differing)


def test_every_error_stands_in_the_tree_with_its_exit_code() -> None:
    tree = dict(re.findall(r"^(?:[├└]── )?(\w+Error) +exit (\d)", errors.__doc__ or "", re.M))
    classes = {
        name: str(kind.exit_code)
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, HumanEvalError)
    }
    assert tree == classes


def test_no_error_is_defined_elsewhere() -> None:
    for module in loaded():
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if issubclass(kind, HumanEvalError):
                assert kind.__module__ == "humaneval.errors", (module, kind)


def test_no_module_is_longer_than_a_person_reads_in_one_sitting() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for folder in ("humaneval", "generators", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
    }
    assert lengths
    assert {path: lines for path, lines in lengths.items() if lines > LONGEST} == {}


def test_every_module_says_in_its_first_line_what_it_gives() -> None:
    for module in loaded():
        if not hasattr(module, "__path__"):
            assert (module.__doc__ or "").partition("\n")[0], module


def test_one_version_stands_in_package_code_and_change_log() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == humaneval.__version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[?{re.escape(humaneval.__version__)}\b", changes, re.M)


def test_every_kind_that_is_registered_has_its_code() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for target in project["entry-points"]["humaneval.generators"].values():
        module, _, builder = target.partition(":")
        assert (ROOT / f"{module.replace('.', '/')}.py").exists()
        assert f"def {builder}(" in (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")


def test_the_examples_in_docstrings_are_true() -> None:
    tried = 0
    for module in loaded():
        if ">>>" not in Path(str(module.__file__)).read_text(encoding="utf-8"):
            continue
        result = doctest.testmod(module)
        assert result.failed == 0, module
        tried += result.attempted
    assert tried > 20


def test_every_benchmark_can_be_imported() -> None:
    """They are run by hand, so that a name that has moved is noticed late."""
    for file in sorted((ROOT / "benchmarks").glob("*.py")):
        import_module(f"benchmarks.{file.stem}")
