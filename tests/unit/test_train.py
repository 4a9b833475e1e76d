"""The verb `train`: one command, whose options know the kinds that they go with."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from generators.training.options import KINDS, KindOption
from generators.training.train import train
from humaneval.errors import UsageError


def shown(*arguments: str) -> str:
    return CliRunner().invoke(train, [*arguments, "--help"], terminal_width=100).output


def options(kind: str | None = None) -> list[str]:
    found = [option for option in train.params if isinstance(option, KindOption)]
    return [option.opts[0] for option in found if kind is None or kind in option.kinds]


def test_the_first_line_names_every_kind() -> None:
    first = str(train.help).splitlines()[0]
    assert all(kind in first.replace(",", " ").replace(".", " ").split() for kind in KINDS)


def test_the_help_has_every_option_once() -> None:
    words = shown().split()
    for name in options():
        assert words.count(name) - words[: words.index("Options")].count(name) == 1, name


@pytest.mark.parametrize("kind", KINDS)
def test_the_help_of_a_kind_has_its_options_alone(kind: str) -> None:
    words = shown(kind).split()
    assert {name for name in options() if name in words} == set(options(kind))


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        ("sa", ("--documents", ".")),
        ("sa", ("--from-scratch",)),
        ("bert", ("--bundled",)),
        ("bert", ("--layers", "5")),
        ("lm", ("--hidden", "64")),
        ("ilm", ("--no-scale-template",)),
    ],
)
def test_an_option_of_other_kinds_is_refused(kind: str, option: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"goes with .*, not with {kind}|goes with sa, not with {kind}"):
        train.main([kind, "--out", str(tmp_path / "out"), *option], standalone_mode=False)
    assert not (tmp_path / "out").exists()


def test_a_kind_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="'gpt' is not one of"):
        train.main(["gpt", "--out", str(tmp_path)], standalone_mode=False)
