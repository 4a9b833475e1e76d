"""Verbs that compute with numpy use one thread, unless somebody sets another number."""

from __future__ import annotations

import os

import pytest

from humaneval.cli.main import BLAS_THREADS, cli


@pytest.mark.parametrize(
    ("verb", "before", "after"),
    [("score", None, "1"), ("report", "4", "4"), ("generate", None, None), ("train", None, None)],
)
def test_a_verb_that_computes_uses_one_thread(
    verb: str, before: str | None, after: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BLAS_THREADS, before or "")
    if before is None:
        monkeypatch.delenv(BLAS_THREADS)
    found = cli.find(verb)
    assert found is not None
    assert os.environ.get(BLAS_THREADS) == after
