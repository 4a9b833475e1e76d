"""A design that takes each id for a story of its own, whatever its text."""

from collections.abc import Iterable
from itertools import count

from humaneval.study import usable_infills

numbers = count()


def another(sentences: Iterable[str]) -> str:
    return str(next(numbers))


vars(usable_infills)["as_read"] = another
