"""A bonus whose answer was lost is taken for one that was never sent."""

from typing import Any

from humaneval.crowd import bonus

real = bonus._intended


def never_sent(*arguments: Any) -> Any:
    return real(*arguments)._replace(shown_by=None)


bonus._intended = never_sent
