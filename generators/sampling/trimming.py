"""Cuts off what an answer repeats of the text after its gap."""

from __future__ import annotations

import re

WORDS = 3
"""This many equal words in a row are not a coincidence."""


def before_repetition(answer: str, behind: str) -> str:
    """`answer` up to where it repeats the first three words of the text after the gap, or all of its words if
    they are fewer.

    >>> before_repetition("She left. Then he ate", " Then he ate it.")
    'She left.'
    >>> before_repetition("She left.", "")
    'She left.'
    """
    head = behind.split()[:WORDS]
    spans = [(found.start(), found.group()) for found in re.finditer(r"\S+", answer)]
    words = [word for _, word in spans]
    for at in range(len(words) - len(head) + 1 if head else 0):
        if words[at : at + len(head)] == head:
            return answer[: spans[at][0]].rstrip()
    return answer
