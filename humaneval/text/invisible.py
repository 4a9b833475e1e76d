"""Characters that leave nothing to see, and the places where a script needs them."""

from __future__ import annotations

import re
import unicodedata

_IGNORABLE = re.compile(
    # Unicode's Default_Ignorable_Code_Point
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    # other marks of format, and the empty Braille pattern
    "\ufff9-\ufffb\U00013430-\U0001343f\u2800]"
)
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f")
"""The flags of England, Scotland and Wales, spelt with tags."""
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})

_JOINING = re.compile(
    "[\u0590-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ua840-\ua87f\ufb50-\ufdff\ufe70-\ufefc]"
)
"""Scripts whose letters change by their neighbours: Hebrew to Sinhala, Tibetan, Burmese, Khmer, Mongolian."""
_IDEOGRAPH = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_MONGOLIAN = re.compile("[\u1800-\u180a\u1810-\u18af]")
_VARIED = re.compile("[\u1000-\u109f\ua840-\ua87f\u2200-\u22ff]")
"""Letters of Burmese and 'Phags-pa, and operators, that have a standardised variant."""
_KEYCAP = re.compile("[0-9#*]")
_SYMBOLS = frozenset({"So", "Sk", "Sm"})
_PLAIN_EMOJI = frozenset("‼⁉ℹ〰")


def is_ignorable(character: str) -> bool:
    """Whether a character leaves nothing to see by itself.

    >>> is_ignorable("\u200b"), is_ignorable("\ufe0f"), is_ignorable(" "), is_ignorable("a")
    (True, True, False, False)
    """
    return bool(_IGNORABLE.match(character))


def hidden_characters(text: str) -> str:
    """Names of the invisible characters in `text` that its script does not need where they are.

    They would betray a machine's sentence, or show it in another order. Joiners in words and emoji, variants
    after what can vary, tags of flags, and marks of direction in text from right to left are fine.

    >>> hidden_characters("a\u202eb\u200b"), hidden_characters("👩\u200d🚀")
    ('U+202E, U+200B', '')
    """
    if text.isascii() or not _IGNORABLE.search(text):
        return ""
    text = _FLAG.sub("\U0001f3f4", text)
    found = [one.group() for one in _IGNORABLE.finditer(text) if not _is_needed(text, one.start())]
    return ", ".join(dict.fromkeys(f"U+{ord(one):04X}" for one in found))


def _is_needed(text: str, at: int) -> bool:
    """Whether the script of `text` needs the invisible character at `at`."""
    mark, before, after = text[at], text[max(0, at - 1) : at], text[at + 1 : at + 2]
    if mark == "\u200d" and _is_symbol(before) and _is_symbol(after):
        return True
    if mark in "\u200c\u200d":
        return bool(_JOINING.match(before)) or (mark == "\u200d" and bool(_JOINING.match(after)))
    if mark in "\u200e\u200f\u061c":
        return any(
            unicodedata.bidirectional(one) in _RIGHT_TO_LEFT for one in text if one not in "\u200f\u061c"
        )
    if "\ufe00" <= mark <= "\ufe0f":
        varied = any(pattern.match(before) for pattern in (_IDEOGRAPH, _MONGOLIAN, _VARIED))
        return varied or (mark in "\ufe0e\ufe0f" and _is_shown_as_emoji(before, after))
    if "\U000e0100" <= mark <= "\U000e01ef":
        return bool(_IDEOGRAPH.match(before))
    if "\u180b" <= mark <= "\u180f":
        return bool(_MONGOLIAN.match(before))
    if mark == "\u2800":
        return any("\u2801" <= one <= "\u28ff" for one in (before, after))
    if mark == "\u115f":
        return "\u1161" <= after <= "\u11a7"
    if mark == "\u1160":
        return "\u1100" <= before <= "\u115e" and "\u11a8" <= after <= "\u11ff"
    return mark == "\u034f" and "\u0591" <= before <= "\u05c7"


def _is_symbol(character: str) -> bool:
    """Whether an emoji may have this character beside a joiner."""
    return character in ("\ufe0f", "\ufe0e") or (
        character != "" and unicodedata.category(character) in _SYMBOLS and not character.isascii()
    )


def _is_shown_as_emoji(before: str, after: str) -> bool:
    if _KEYCAP.match(before):
        return after == "\u20e3"
    return before in _PLAIN_EMOJI or (_is_symbol(before) and before not in "\ufe0e\ufe0f")
