"""What a platform accepts in its own texts: titles, reasons, feedback, letters. Checked before anything is
done.

Passages are delivered in another way and may hold any character.
"""

from __future__ import annotations

from humaneval.errors import UsageError
from humaneval.text import unshowable

MAX_REASON, MAX_SUBJECT, MAX_LETTER = 1024, 200, 4096
"""The most characters that Mechanical Turk accepts: in a reason or a feedback, and in a letter's subject and
text."""
MAX_TITLE, MAX_DESCRIPTION, MAX_KEYWORDS = 128, 2000, 1000
"""The same for the listing of a HIT; for all keywords together."""


def plain_words(what: str, text: str, most: int = MAX_REASON, *, needed: bool = True) -> str:
    """`text` without white space around it. Raises UsageError if it is too long, has emoji, or is missing but
    needed."""
    text = text.strip()
    if needed and not text:
        raise UsageError(f"the {what} is empty", "The worker reads it.")
    if len(text) > most:
        raise UsageError(
            f"the {what} has {len(text):,} characters; the platform accepts {most:,}", f"Shorten the {what}."
        )
    strange = "".join(dict.fromkeys(c for c in text if ord(c) > 0xFFFF or (c < " " and c not in "\t\r\n")))
    if strange:
        raise UsageError(
            f"the {what} has characters that the platform does not accept: {strange}",
            f"Remove emoji, control characters and other characters beyond U+FFFF from the {what}.",
        )
    if fault := unshowable(text):
        raise UsageError(
            f"the {what} {fault}", f"Type the {what} again: invisible characters come from copying."
        )
    return text
