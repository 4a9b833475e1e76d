"""Errors in a study's settings, reported at the place where the value was written: option, preset or file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from humaneval.errors import SettingsError
from humaneval.resources import bundled
from humaneval.text import command

Layer = Mapping[str, Mapping[str, Any]]
"""Section → setting → value."""


class TogetherError(ValueError):
    """Settings that contradict each other; `settings` lists them as `section.name`."""

    def __init__(self, message: str, *settings: str) -> None:
        super().__init__(message)
        self.settings = settings


def fault(
    error: ValidationError, where: str, preset: str | None, laid: Layer, options: Layer
) -> SettingsError:
    """The first error. `where` is the file, `laid` the settings of the preset, `options` those of the command
    line."""
    first = error.errors()[0]
    place, reason = _place(first["loc"]), _reason(first)
    if first["type"] == "extra_forbidden" and first["loc"][-1] == "question":
        reason = "question goes above all sections, not into one"
    cause = first.get("ctx", {}).get("error")
    settings = cause.settings if isinstance(cause, TogetherError) else (".".join(map(str, first["loc"][:2])),)
    return _at(settings, place, reason, _item(first["loc"]), where, preset, laid, options)


def together(
    error: TogetherError, where: str, preset: str | None, laid: Layer, options: Layer
) -> SettingsError:
    """The same for settings that were found to contradict each other once all were read."""
    return _at(error.settings, "", str(error), "", where, preset, laid, options)


def unreadable(error: OSError, where: str) -> SettingsError:
    """The error about a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return SettingsError(
            f"{where} does not exist",
            f"Check the name. `{command('init')}` writes a study.toml to a folder that has none.",
        )
    return SettingsError(f"{where}: {error.strerror}", "Check the file and its permissions.")


def _at(
    settings: Sequence[str],
    place: str,
    reason: str,
    item: str,
    where: str,
    preset: str | None,
    laid: Layer,
    options: Layer,
) -> SettingsError:
    """The error at the option, the preset or the file that one of `settings` comes from."""
    for setting in settings:
        if setting.startswith("design.") and _sets(options, setting):
            option = setting.rpartition(".")[2].replace("_", "-")
            return SettingsError(
                f"--{option}: {f'{item} ' if item else ''}{reason}",
                f"See `{command('study', 'create', '--help')}`.",
            )
    if preset and any(_sets(laid, setting) for setting in settings):
        return SettingsError(
            f"the preset {preset} and {where} together: {place}{reason}",
            "The preset's design overrides the file's.",
        )
    return SettingsError(
        f"{where}: {place}{reason}", f"Every setting is explained in {bundled('bundled') / 'study.toml'}."
    )


def _sets(layer: Layer, setting: str) -> bool:
    section, _, name = setting.partition(".")
    return name in layer.get(section, {})


def _place(loc: Sequence[int | str]) -> str:
    """`design.generators, item 4: `, counted from 1. Empty for the file as a whole."""
    if not loc:
        return ""
    names = ".".join(str(part) for part in loc[:2])
    return f"{names}, {item}: " if (item := _item(loc)) else f"{names}: "


def _item(loc: Sequence[int | str]) -> str:
    return ", ".join(f"item {part + 1}" if isinstance(part, int) else part for part in loc[2:])


def _reason(first: Any) -> str:
    say = REASONS.get(first["type"])
    return say(first.get("ctx", {})) if say else first["msg"].removeprefix("Value error, ")


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


REASONS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "extra_forbidden": lambda of: "there is no such setting",
    "missing": lambda of: "is missing",
    "greater_than": lambda of: f"must be more than {_number(of['gt'])}",
    "greater_than_equal": lambda of: f"must be at least {_number(of['ge'])}",
    "less_than": lambda of: f"must be less than {_number(of['lt'])}",
    "less_than_equal": lambda of: f"must be at most {_number(of['le'])}",
    "int_type": lambda of: "must be a whole number",
    "float_type": lambda of: "must be a number",
    "float_parsing": lambda of: "must be a number",
    "finite_number": lambda of: "must be a finite number",
    "bool_type": lambda of: "must be true or false",
    "bool_parsing": lambda of: "must be true or false",
    "string_type": lambda of: "must be text",
    "string_pattern_mismatch": lambda of: f"does not match {of['pattern']}",
    "string_too_long": lambda of: f"may have at most {of['max_length']} characters",
    "tuple_type": lambda of: "must be a list",
    "too_short": lambda of: f"must have at least {of['min_length']} items, but has {of['actual_length']}",
    "too_long": lambda of: f"may have at most {of['max_length']} items, but has {of['actual_length']}",
    "literal_error": lambda of: f"must be {of['expected']}",
    "enum": lambda of: f"must be {of['expected']}",
    "dict_type": lambda of: "must be a section of settings",
    "model_type": lambda of: "must be a section of settings",
    "model_attributes_type": lambda of: "must be a section of settings",
}
"""Pydantic's errors in plain words."""
