"""Filling in, asked for in words: the request with its numbered blanks, and the strict JSON reply."""

from __future__ import annotations

import json
import re

from humaneval.domain import Gap, GappedText

WANTED = {
    "sentence": "one sentence",
    "paragraph": "one paragraph",
    "document": "the whole text",
    "word": "one word",
}
BEGINNING = '["'
"""How every reply begins: a model that can be made to begin so is."""


def request_for(text: GappedText) -> str:
    """What the model is asked, the text's blanks numbered."""
    numbered = text.pieces[0] + "".join(
        f"[blank {number}]{piece}" for number, piece in enumerate(text.pieces[1:], start=1)
    )
    wishes = "\n".join(f"[blank {number}]: {_wish(gap)}" for number, gap in enumerate(text.gaps, start=1))
    return (
        f"Something is missing from this text wherever it says [blank N]:\n\n{numbered}\n\n"
        f"What is missing:\n{wishes}\n\n"
        f"Reply with a JSON list of {len(text.gaps)} string(s), one for each blank in order. Each string is only what belongs "
        "in that blank, without any of the text around it. Write nothing else."
    )


def _wish(gap: Gap) -> str:
    parts = [WANTED.get(gap.type, "a few words")]
    if gap.min_words:
        parts.append(f"at least {gap.min_words} words")
    if gap.max_words:
        parts.append(f"at most {gap.max_words} words")
    if gap.beginning:
        parts.append(f"beginning with {json.dumps(gap.beginning, ensure_ascii=False)}")
    return ", ".join(parts)


def read_reply(reply: str, count: int = 0) -> list[str] | None:
    """The answers in a reply: the first JSON list of `count` strings (0: one or more), whatever stands around it; or None."""
    decoder = json.JSONDecoder()
    for found in re.finditer(r'\[\s*"', reply):
        try:
            values, _ = decoder.raw_decode(reply, found.start())
        except (ValueError, RecursionError):
            continue
        if all(isinstance(value, str) for value in values) and (not count or len(values) == count):
            return list(values)
    return None
