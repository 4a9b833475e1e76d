"""The characters that no text at the marketplace may contain: only those that XML cannot carry.

The rules for the toolkit's own texts are stricter (`humaneval.text`). They do not apply to what a worker
pastes.
"""

from __future__ import annotations

import re

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def forbidden_character(text: str) -> str:
    """The first character of `text` that cannot be carried, as U+XXXX; empty if there is none.

    >>> forbidden_character("a\\x00b"), forbidden_character("tab\\t and \U0001f600")
    ('U+0000', '')
    """
    found = _FORBIDDEN.search(text)
    return f"U+{ord(found.group()):04X}" if found else ""
