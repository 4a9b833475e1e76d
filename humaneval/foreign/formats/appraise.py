"""Appraise's exports of direct assessments: CSV with a header line or, as for WMT, without one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from humaneval.foreign.document import Document
from humaneval.foreign.header import framed
from humaneval.foreign.sheet import Options, Sheet

NAME = "appraise"
TYPES = ("TGT", "CHK", "BAD", "REF", "BAD.REF")
FIRST = ("username", "systemID", "segmentID", "itemType", "sourceLanguage", "targetLanguage", "score")
"""The first columns of every line in a file without a header."""
ROLES = {"worker": "username", "generator": "systemID", "story": "segmentID", "seconds": "durationInSeconds"}
PERSONAL = ("email", "groups")


def recognise(document: Document) -> str:
    """Why the file does not have this format; empty if it does."""
    header = document.header
    if {"username", "segmentID", "score", "itemType"} <= set(header) or _is_line(header):
        return ""
    return (
        "no columns username, segmentID, score and itemType, and no lines like"
        " user,system,segment,TGT,eng,deu,score"
    )


def read(document: Document, options: Options) -> Sheet:
    """The assessments. CHK, BAD and REF are control items; they are kept and counted."""
    if _is_line(document.header):
        sheet = framed(document, NAME, header=_guessed(document.header), skip=0)
    else:
        sheet = framed(document, NAME)
    personal = [name for name in PERSONAL if name in sheet.frame.columns]
    frame = sheet.frame.drop(columns=personal)
    controls = int(frame["itemType"].ne("TGT").sum())
    return replace(
        sheet, frame=frame, roles={role: name for role, name in ROLES.items() if name in frame.columns}
    ).noted(
        f"personal columns that are not read: {', '.join(personal)}" if personal else "",
        f"{controls} control items (itemType is not TGT), kept" if controls else "",
    )


def _is_line(cells: Sequence[str]) -> bool:
    return (
        len(cells) >= len(FIRST)
        and cells[3].upper() in TYPES
        and all(code.isalpha() and 2 <= len(code) <= 8 for code in (cells[4], cells[5]))
        and _is_number(cells[6])
    )


def _guessed(cells: Sequence[str]) -> list[str]:
    """Column names for a file without a header. Its columns depend on version and campaign."""
    names = list(FIRST)
    rest = list(cells[len(FIRST) :])
    if len(rest) > 1 and rest[1].casefold() in ("true", "false"):
        names += ["documentID", "isCompleteDocument"]
        rest = rest[2:]
    if rest and not _is_number(rest[0]):
        names.append("mqm")
        rest = rest[1:]
    if len(rest) > 1 and all(_is_number(cell) and float(cell) > 1e9 for cell in rest[:2]):
        names += ["startTime", "endTime"]
        rest = rest[2:]
    if len(rest) == 2:
        return [*names, "batch", "item"]
    return names + [f"column {len(names) + place}" for place in range(1, len(rest) + 1)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
