"""The documents of an archive: the same bytes as json's, without the whole in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humaneval.report.archive_document import document, write_document

FINITE = st.floats(allow_nan=False, allow_infinity=False).filter(lambda one: one != 0)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | FINITE | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_a_document_has_the_bytes_that_json_gives(value: Any) -> None:
    told = json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    # A lone surrogate cannot be written, neither here nor there.
    if not any("\ud800" <= one <= "\udfff" for one in told):
        assert document(value).decode() == told


def test_floats_are_rounded_and_zero_has_no_sign() -> None:
    assert document([0.123456789, -0.0, 1234567.0], 3) == b"[\n 0.123,\n 0.0,\n 1230000.0\n]\n"


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": {1}}])
def test_what_json_does_not_have_is_an_error(value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        document(value)


def test_what_an_iterator_gives_is_written_before_it_gives_more(tmp_path: Path) -> None:
    written: list[int] = []
    path = tmp_path / "design.json"

    def rows() -> Iterator[dict[str, int]]:
        for number in range(20_000):
            if number % 10_000 == 9_999:
                written.append(path.stat().st_size)
            yield {"row": number}

    write_document(path, {"rows": rows(), "none": iter(())})
    assert written[0] > 100_000
    assert path.read_bytes() == document({"rows": [{"row": each} for each in range(20_000)], "none": []})
