"""A sheet of judgments as a response table: one row a response, with an account of every row that did not become one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import pandas as pd

from humaneval.domain import SENTENCES
from humaneval.errors import InputError, UsageError
from humaneval.importing.mapping import PLACE, Mapping, numbered
from humaneval.importing.sheet import Options, Sheet, listed
from humaneval.importing.times import duration, moment, zone
from humaneval.judgments import NO, REQUIRED, YES

ENDPOINT = "imported"
"""Stands as the endpoint of every response that was made elsewhere, so that none passes for one of ours."""
Contradictions = Literal["refuse", "first", "last", "keep"]


@dataclass(frozen=True, slots=True)
class Imported:
    """A response table, and the sheet with what became of its rows. `mapping` says where the columns come from."""

    frame: pd.DataFrame
    sheet: Sheet
    mapping: Mapping

    def manifest(self) -> dict[str, Any]:
        """What was read, how, and what was left out, as plain values; the lines are those of the file."""
        return {
            "format": self.sheet.format,
            "sha256": self.sheet.sha256,
            "columns": dict(self.mapping.columns),
            "constants": dict(self.mapping.constants),
            "guessed": list(self.mapping.guessed),
            "rows_read": self.sheet.rows_read,
            "rows_used": len(self.sheet.frame),
            "responses": len(self.frame),
            "workers": int(self.frame["worker"].nunique()),
            "left_out": [
                {"cause": left.cause, "rows": len(left.lines), "lines": list(left.lines)}
                for left in self.sheet.left_out
            ],
            "notes": list(self.sheet.notes),
        }


def responses(
    sheet: Sheet,
    mapping: Mapping,
    *,
    study: str,
    options: Options | None = None,
    from_zero: bool = False,
    contradictions: Contradictions = "refuse",
) -> Imported:
    """The response table of a sheet whose worker ids are pseudonyms already.

    A form with several passages (columns with {}) becomes a row for each. `position` and `choice` are read as whole
    numbers 1–5 (counted from 0 with `from_zero`), also inside words with one number (`Sentence 3`). Left out and
    counted: passages without an answer; a row that is there a second time, equal in every column. Two different answers to one passage by one
    worker in one form are refused, or kept as `contradictions` says. Raises InputError with the lines for anything
    that cannot be read, unless `options.skip_bad`.
    """
    options = options or Options()
    twice = sheet.frame.duplicated()
    sheet = sheet.without("the same row again", list(sheet.frame.index[twice])).noted(*mapping.notes)
    frame, sheet = _long(sheet, mapping)
    blank = frame["choice"].isna()
    sheet = _dropped(sheet, frame, blank, "no answer")
    frame = frame[~blank]
    bad: dict[str, pd.Series[bool]] = {}
    for name in REQUIRED:
        if name in ("position", "choice"):
            places = frame[name].map(lambda cell: _place(cell, from_zero))
            bad[f"{name} is not a sentence from 1 to {SENTENCES}"] = places.isna() & frame[name].notna()
            bad[f"{name} is empty"] = frame[name].isna()
            frame = frame.assign(**{name: places})
        else:
            bad[f"{name} is empty"] = frame[name].isna()
    for cause, rows in bad.items():
        rows = rows.reindex(frame.index)
        if rows.any() and not options.skip_bad:
            raise InputError(
                f"{int(rows.sum())} responses cannot be read: {cause}: "
                f"lines {listed(list(dict.fromkeys(frame.loc[rows, 'line'])))}",
                _hint(cause, from_zero),
            )
        sheet = _dropped(sheet, frame, rows, cause)
        frame = frame[~rows]
    if frame.empty:
        raise InputError("no response is left: " + "; ".join(str(left) for left in sheet.left_out))
    frame = frame.assign(position=frame["position"].astype("int64"), choice=frame["choice"].astype("int64"))
    frame, sheet = _values(frame, sheet, options)
    frame, sheet = _once(frame, sheet, contradictions)
    frame = frame.drop(columns="line").assign(study=study, endpoint=ENDPOINT)
    return Imported(frame.reset_index(drop=True), sheet, mapping)


def _long(sheet: Sheet, mapping: Mapping) -> tuple[pd.DataFrame, Sheet]:
    wide = {role: numbered(sheet.frame, name) for role, name in mapping.columns.items() if PLACE in name}
    if len({tuple(columns) for columns in wide.values()}) > 1:
        told = "; ".join(
            f"{mapping.columns[role]}: {listed(list(columns), 12)}" for role, columns in wide.items()
        )
        raise UsageError(f"the columns of a form do not have the same numbers: {told}")
    numbers = next(iter(wide.values()), {0: ""})
    parts = []
    for number in numbers:
        part = {
            role: sheet.frame[wide[role][number] if role in wide else name]
            for role, name in mapping.columns.items()
        }
        part |= {
            role: pd.Series(text, index=sheet.frame.index, dtype=object)
            for role, text in mapping.constants.items()
        }
        parts.append(pd.DataFrame(part, dtype=object).assign(line=list(sheet.frame.index), number=number))
    frame = pd.concat(parts, ignore_index=True)
    order = pd.Series(range(len(sheet.frame)), index=sheet.frame.index)
    frame["at"] = frame["line"].map(order)
    frame = (
        frame.sort_values(["at", "number"], kind="stable")
        .drop(columns=["at", "number"])
        .reset_index(drop=True)
    )
    text = frame.drop(columns="line").map(_stripped)
    note = f"{len(numbers)} passages a row: {len(sheet.frame)} rows give {len(frame)}" if wide else ""
    return text.assign(line=frame["line"]), sheet.noted(note)


def _stripped(cell: object) -> object:
    text = "" if cell is None or cell is pd.NA or cell != cell else str(cell).strip()
    return text or None


def _place(cell: object, from_zero: bool) -> int | None:
    text = str(cell)
    try:
        number = float(text)
    except ValueError:
        runs = re.findall(r"\d+", text)
        if len(runs) != 1:
            return None
        number = float(runs[0])
    place = number + from_zero
    return int(place) if place == int(place) and 1 <= place <= SENTENCES else None


def _hint(cause: str, from_zero: bool) -> str:
    if "sentence" in cause and not from_zero:
        return "If sentences are counted from 0 there: --from-zero. --skip-bad leaves such responses out, counted."
    return "--skip-bad leaves such responses out, counted."


def _dropped(sheet: Sheet, frame: pd.DataFrame, rows: pd.Series[bool], cause: str) -> Sheet:
    """Count responses that go: whole rows of the file as rows, single passages of a form in a remark."""
    if not rows.any():
        return sheet
    gone = frame.loc[rows, "line"]
    staying = set(frame.loc[~rows, "line"])
    whole = [line for line in dict.fromkeys(gone) if line not in staying]
    part = int((~gone.isin(whole)).sum())
    sheet = sheet.without(cause, [line for line in whole if line in sheet.frame.index])
    lines = list(dict.fromkeys(line for line in gone if line in staying))
    return sheet.noted(f"{part} passages of forms left out: {cause} (lines {listed(lines)})" if part else "")


def _values(frame: pd.DataFrame, sheet: Sheet, options: Options) -> tuple[pd.DataFrame, Sheet]:
    """Times in UTC, seconds as numbers, tests as truth; what is not understood becomes empty and is counted."""
    here = zone(options.time_zone or sheet.time_zone or None)
    readers: dict[str, Callable[[str], object]] = {
        "seconds": duration,
        "submitted_at": lambda text: found.isoformat() if (found := moment(text, here)) else None,
        "shown_at": lambda text: found.isoformat() if (found := moment(text, here)) else None,
        "order": lambda text: int(float(text)) if re.fullmatch(r"\d+(\.0+)?", text) else None,
        "test": lambda text: text.casefold() in YES if text.casefold() in YES | NO else None,
    }
    for name, read in readers.items():
        if name not in frame.columns:
            continue
        old = frame[name]
        new = old.map(lambda cell, read=read: None if cell is None else read(str(cell))).astype(object)
        lost = old.notna() & new.isna()
        if lost.any():
            hint = " (say --time-zone)" if name.endswith("_at") and here is None else ""
            sheet = sheet.noted(
                f"{name}: {int(lost.sum())} cells were not understood{hint} and are empty, for example "
                f"{old[lost].iloc[0]!r} (line {frame.loc[lost, 'line'].iloc[0]})"
            )
        if name == "test":
            new = new.map(lambda cell: bool(cell)).astype(bool)
        frame = frame.assign(**{name: new})
    return frame, sheet


def _once(frame: pd.DataFrame, sheet: Sheet, contradictions: Contradictions) -> tuple[pd.DataFrame, Sheet]:
    """What one worker said of one passage more than once in one form, and differently, is decided or refused."""
    form = ["worker", "story", "generator"] + (["assignment"] if "assignment" in frame.columns else [])
    passage = frame.groupby(form, sort=False, dropna=False).ngroup()
    said = pd.DataFrame({"passage": passage, "position": frame["position"], "choice": frame["choice"]})
    distinct = said.drop_duplicates()["passage"]
    clash = passage.isin(distinct[distinct.duplicated()])
    n = passage[clash].nunique()
    lines = listed(list(dict.fromkeys(frame.loc[clash, "line"])))
    if n and contradictions == "refuse":
        raise InputError(
            f"{n} passages were answered twice, and differently, by one worker: lines {lines}",
            "Say which counts: --contradictions first, last or keep.",
        )
    if n and contradictions == "keep":
        sheet = sheet.noted(f"{n} passages with contradicting answers by one worker are kept: lines {lines}")
    elif n:
        gone = clash & passage.duplicated(keep="first" if contradictions == "first" else "last")
        sheet = _dropped(sheet, frame, gone, f"contradicts the {contradictions} answer of the same worker")
        frame, clash = frame[~gone], clash[~gone]
    return frame, _said_again(frame, clash, sheet)


def _said_again(frame: pd.DataFrame, clash: pd.Series[bool], sheet: Sheet) -> Sheet:
    passage = ["worker", "story", "generator"]
    again = frame.duplicated(passage, keep=False) & ~clash
    if not again.any():
        return sheet
    return sheet.noted(
        f"{len(frame.loc[again, passage].drop_duplicates())} passages were answered again by the same worker, and "
        f"scores count the first answer (lines {listed(list(dict.fromkeys(frame.loc[again, 'line'])))})"
    )


def anonymous(sheet: Sheet) -> tuple[Sheet, str]:
    """The sheet with a column of workers that counts every row as another person, and that column's name."""
    name = "(row as worker)"
    frame = sheet.frame.assign(**{name: [f"row {line}" for line in sheet.frame.index]}).astype(object)
    return replace(sheet, frame=frame).noted(
        "every row counts as another person: where people did several, intervals come out too narrow"
    ), name
