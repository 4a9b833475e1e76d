"""What models repeat of the text around a gap, cut off their answers."""

from __future__ import annotations

import re

WORDS = 3
"""So many words in a row are no chance agreement."""


def before_repetition(answer: str, behind: str) -> str:
    """`answer` up to where it goes on with the first three words of what stands behind the gap (all, where it
    is fewer).

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
