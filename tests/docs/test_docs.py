"""What is written agrees with what is: commands, settings, errors, versions, examples, and the size of
modules."""

from __future__ import annotations

import ast
import doctest
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
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

LONGEST_FUNCTION = 60
"""Lines of a function, without its docstring."""

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


def test_no_function_is_longer_than_one_screen() -> None:
    lengths = {
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}": _lines(node)
        for folder in ("humaneval", "generators", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    assert lengths
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION} == {}


def _lines(function: ast.FunctionDef) -> int:
    first = function.body[0]
    told = ast.get_docstring(function) is not None
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if told else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring


HEAVY = {"alembic", "matplotlib", "pandas", "punkt", "rich", "scipy", "torch", "transformers"}
"""Libraries that take a tenth of a second or more to load, or that masks are drawn without: punkt."""

EXTRAS = {"filelock", "huggingface_hub", "openpyxl", "pyarrow", "ray", "safetensors", "tokenizers"}
"""Libraries that may be missing."""

LATE = {
    "humaneval.cli.infill": {"humaneval.web.app", "humaneval.web.infilling"},
    "humaneval.cli.context": {"*"},  # every verb uses it, and some need no database
    "humaneval.cli.review": {"humaneval.crowd.worker_flags"},
    "humaneval.cli.score": {"humaneval.report.terminal.analysis"},
    "generators.self_attention.generator": {
        "generators.self_attention.beam_search",
        "generators.self_attention.checkpoint",
    },
    "generators.training.train": {"generators.training.train_sa"},
}
"""Our own modules that are imported inside a function, because they load one of these at their top."""


def test_imports_inside_functions_only_keep_a_heavy_library_out() -> None:
    for package in (humaneval, generators):
        for path in Path(package.__path__[0]).rglob("*.py"):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            for name in _imported_inside_functions(path):
                late = LATE.get(module, set())
                known = name.partition(".")[0] in HEAVY | EXTRAS or name in late or "*" in late
                assert known, f"{path}: import {name} at the top"


def _imported_inside_functions(path: Path) -> Iterator[str]:
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import):
                    yield from (alias.name for alias in node.names)
                elif isinstance(node, ast.ImportFrom):
                    yield str(node.module)


BARE = {
    "LazyGroup.resolve_command",  # click's
    "leaves",  # for a dict
    "Punctuation.mask",  # a mask of anybody's own gives these, too
    "ProperNouns.mask",
}


def test_no_bare_tuple_of_different_things_crosses_the_border_of_a_module() -> None:
    found = {
        name
        for folder in ("humaneval", "generators")
        for path in (ROOT / folder).rglob("*.py")
        for name, function in _public(ast.parse(path.read_text(encoding="utf-8")).body)
        if function.returns is not None and any(map(_mixed, ast.walk(function.returns)))
    }
    assert found == BARE


def _public(body: Sequence[ast.stmt], within: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            if isinstance(node, ast.ClassDef):
                yield from _public(node.body, f"{node.name}.")
            else:
                yield within + node.name, node


def _mixed(node: ast.AST) -> bool:
    """Whether an annotation is a tuple of different types."""
    if not (isinstance(node, ast.Subscript) and ast.unparse(node.value) == "tuple"):
        return False
    parts = {ast.unparse(part) for part in getattr(node.slice, "elts", ())}
    return len(parts - {"..."}) > 1


def test_every_module_says_in_its_first_line_what_it_gives() -> None:
    for module in loaded():
        if not hasattr(module, "__path__"):
            assert (module.__doc__ or "").partition("\n")[0], module


def test_every_room_says_where_its_door_is() -> None:
    for module in loaded():
        if hasattr(module, "__path__") and not module.__name__.startswith("humaneval.cli."):
            assert re.search(r"\bdoors?\b", module.__doc__ or ""), module


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
