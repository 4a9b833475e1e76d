"""Requests and replies, checked against botocore's model: types, ranges, patterns, enums."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice
from typing import Any

from botocore.loaders import Loader
from botocore.model import ListShape, OperationModel, ServiceModel, Shape, StructureShape
from botocore.validate import ParamValidator

from humaneval.market.protocol.characters import forbidden_character

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = (datetime(9999, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds()

MOST_FAULTS, LONGEST_FAULT = 20, 1000
MOST_VALUES = 30_000
"""Of a call, each member of a list and each field of a structure. Two large policies have 20,000."""

_WIDER = frozenset({("ReviewResultDetail", "QuestionId")})
"""Members whose pattern contradicts the model's text: a requester may give a question any id."""


@cache
def service_model() -> ServiceModel:
    """Mechanical Turk's requester API as boto3 describes it."""
    return ServiceModel(Loader().load_service_model("mturk", "service-2"), "mturk")


def operation_model(name: str) -> OperationModel | None:
    """The model of one operation; None if the API has no operation of that name."""
    return service_model().operation_model(name) if name in service_model().operation_names else None


def read_times(value: Any, shape: Shape) -> Any:
    """A parsed JSON body with its timestamps, which are epoch seconds, as aware datetimes.

    A null counts as left out, as in AWS's own clients and services. A value that does not fit the shape
    stays as it is, for `faults` to report. A value that is not a timestamp becomes None, since botocore's
    validator fails on times outside the calendar.
    """
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        return {
            name: read_times(item, shape.members[name]) if name in shape.members else item
            for name, item in value.items()
            if item is not None
        }
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [read_times(item, shape.member) for item in value]
    if shape.type_name == "timestamp":
        readable = isinstance(value, int | float) and not isinstance(value, bool) and value < _LATEST
        # Any time before 1970 is past, and clients cannot read all such times back.
        return _EPOCH + timedelta(seconds=max(value, 0)) if readable else None
    return value


def write_times(value: Any) -> Any:
    """A reply with its datetimes as epoch seconds: integers if they are whole, else to the millisecond."""
    if isinstance(value, dict):
        return {name: write_times(item) for name, item in value.items()}
    if isinstance(value, list):
        return [write_times(item) for item in value]
    if isinstance(value, datetime):
        milliseconds = math.floor((value - _EPOCH).total_seconds() * 1000)
        return milliseconds // 1000 if milliseconds % 1000 == 0 else milliseconds / 1000
    return value


def is_endless(call: Any) -> bool:
    """Whether a parsed JSON body has too many values to look at each: botocore's validator would report every
    one of them."""
    values = [call]
    for each in values:  # it grows
        values += each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        if len(values) > MOST_VALUES:
            return True
    return False


def faults(value: Any, shape: Shape) -> list[str]:
    """What in `value` breaks `shape`, in words; empty if it fits. It is no longer than people read."""
    report = ParamValidator().validate(value, shape)
    if report.has_errors():
        found = str(report.generate_report()).splitlines()
    else:
        found = list(islice(_constraint_faults(value, shape, ""), MOST_FAULTS + 1))
    shown = [
        f"{each[:LONGEST_FAULT]}…" if len(each) > LONGEST_FAULT else each for each in found[:MOST_FAULTS]
    ]
    return [*shown, *(["and more"] if len(found) > MOST_FAULTS else [])]


def _constraint_faults(value: Any, shape: Shape, path: str) -> Iterator[str]:
    """What botocore's validator does not check: patterns, enums, maxima, characters, bools for numbers."""
    if isinstance(shape, StructureShape):
        for name, item in value.items():
            if (shape.name, name) in _WIDER:
                continue
            yield from _constraint_faults(item, shape.members[name], f"{path}.{name}" if path else name)
        return
    if isinstance(shape, ListShape):
        for index, item in enumerate(value):
            yield from _constraint_faults(item, shape.member, f"{path}.{index + 1}.member")
        return
    constraint = _broken_constraint(value, shape)
    if constraint:
        yield f"Value {value!r} at '{path}' failed to satisfy constraint: Member must {constraint}"


def _broken_constraint(value: Any, shape: Shape) -> str:
    metadata = shape.metadata
    if shape.type_name in ("integer", "long"):
        if isinstance(value, bool):
            return "be a number"
        bits = 31 if shape.type_name == "integer" else 63
        least, most = metadata.get("min", -(2**bits)), metadata.get("max", 2**bits - 1)
        return "" if least <= value <= most else f"have value from {least} to {most}"
    if isinstance(value, str):
        bad = forbidden_character(value)
        if bad:
            return f"not contain {bad}"
        if not metadata.get("min", 0) <= len(value) <= metadata.get("max", len(value)):
            return f"have length from {metadata.get('min', 0)} to {metadata['max']}"
        if "enum" in metadata and value not in metadata["enum"]:
            return f"satisfy enum value set: [{', '.join(metadata['enum'])}]"
        if "pattern" in metadata and not _pattern(metadata["pattern"]).search(value):
            return f"satisfy regular expression pattern: {metadata['pattern']}"
    return ""


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    # Python's $ also matches before a final newline; the service's does not.
    return re.compile(pattern.removesuffix("$") + r"\Z" if pattern.endswith("$") else pattern, re.ASCII)
