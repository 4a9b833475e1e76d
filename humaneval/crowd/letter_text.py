"""What a platform takes in its own texts: titles, reasons, feedback, letters. Looked at before anything is
done.

Passages are carried another way and may hold anything.
"""

from __future__ import annotations

from humaneval.errors import UsageError

MAX_REASON, MAX_SUBJECT, MAX_LETTER = 1024, 200, 4096
"""Characters that Mechanical Turk takes in a reason or a feedback, and in a letter's subject and text."""
MAX_TITLE, MAX_DESCRIPTION, MAX_KEYWORDS = 128, 2000, 1000
"""The same for what it lists of a HIT; all keywords together."""


def plain_words(what: str, text: str, most: int = MAX_REASON, *, needed: bool = True) -> str:
    """`text` without white space around it. UsageError where it is too long, has emoji, or is missing and
    needed."""
    text = text.strip()
    if needed and not text:
        raise UsageError(f"the {what} is empty", "The worker reads it.")
    if len(text) > most:
        raise UsageError(
            f"the {what}: {len(text):,} characters; the platform takes {most:,}", f"Shorten the {what}."
        )
    strange = "".join(dict.fromkeys(c for c in text if ord(c) > 0xFFFF or (c < " " and c not in "\t\r\n")))
    if strange:
        raise UsageError(
            f"the {what} has characters that the platform does not take: {strange}",
            f"Leave emoji, control characters and others beyond U+FFFF out of the {what}.",
        )
    return text
