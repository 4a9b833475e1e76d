"""Which characters no text at the marketplace may hold: those that XML cannot carry, and no more.

The toolkit's own texts are held to more than that (`humaneval.text`); a worker's pasted answer is not.
"""

from __future__ import annotations

import re

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def forbidden_character(text: str) -> str:
    """The first character of `text` that cannot be carried, as U+XXXX; empty where all can.

    >>> forbidden_character("a\\x00b"), forbidden_character("tab\\t and \U0001f600")
    ('U+0000', '')
    """
    found = _FORBIDDEN.search(text)
    return f"U+{ord(found.group()):04X}" if found else ""
