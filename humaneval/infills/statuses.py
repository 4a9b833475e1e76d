"""What is noticed about an infill: that it is empty, repeats the original, or cannot be shown."""

from __future__ import annotations

from dataclasses import replace

from humaneval.domain import Infill, InfillStatus, verdict_on
from humaneval.text import normalise, refused_characters


def judge(infill: Infill) -> Infill:
    """Give an `ok` infill the status that its text deserves. Others keep theirs unless it is unprintable.

    The machine's sentence must be one printable sentence that differs from the original and its neighbours.
    """
    text = normalise(infill.text)
    if refused_characters(infill.detail):
        infill = replace(infill, detail=infill.detail.encode("unicode_escape").decode())
    verdict = verdict_on(text, language=infill.blank.story.language)
    if verdict.status is InfillStatus.UNPRINTABLE:
        return replace(infill, text="", status=verdict.status, detail=verdict.detail)
    infill = replace(infill, text=text)
    if infill.status is not InfillStatus.OK:
        return infill
    if verdict.status is not InfillStatus.EMPTY:
        if text == normalise(infill.blank.original):
            return replace(infill, status=InfillStatus.SAME_AS_ORIGINAL)
        if text in infill.blank.story.sentences:
            return replace(infill, status=InfillStatus.SAME_AS_NEIGHBOUR)
    return replace(infill, status=verdict.status, detail=verdict.detail or infill.detail)
