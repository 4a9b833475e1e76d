"""A sheet as a response table: one row a response, and an account of every row that did not become one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pandas as pd

from humaneval.domain import SENTENCES, Role
from humaneval.errors import InputError, UsageError
from humaneval.foreign.mapping import PLACE, ColumnMapping, numbered
from humaneval.foreign.remarks import with_remarks, with_row_passages
from humaneval.foreign.sheet import Options, Sheet, at
from humaneval.foreign.times import duration, moment, zone
from humaneval.scoring.judgments import NO, REQUIRED, YES
from humaneval.text import Answerers, counted, is_path, listed

ENDPOINT = "imported"
"""The endpoint of every imported response, so that it cannot be taken for one of ours."""
MENDED = 20
"""How many lines a message names at most if they have to be corrected."""
Contradictions = Literal["refuse", "first", "last", "keep"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the table answers: a question, its own fields, and the largest number of an answer."""

    question: str = ""
    """Empty for that of this toolkit's first: which sentence did a machine write?"""
    fields: tuple[str, ...] = ()
    most: int = SENTENCES

    @property
    def column(self) -> dict[str, str]:
        """The column that says so."""
        return {"question": self.question} if self.question else {}


DETECTION = Asked()


@dataclass(frozen=True, slots=True)
class Imported:
    """A response table, the sheet that accounts for its rows, and where its columns come from."""

    frame: pd.DataFrame
    sheet: Sheet
    mapping: ColumnMapping

    @property
    def simulated(self) -> bool:
        """Whether the file says, as our exports do, that the annotators were simulated."""
        return self.answerers is not None

    @property
    def answerers(self) -> Answerers | None:
        """How many annotators are programs, as the file says, and how many are not; None if no program is."""
        told, worker = self.sheet.frame.get("simulated"), self.mapping.columns.get("worker")
        if told is None or worker is None:
            return None
        programs = told.map(lambda cell: str(cell).strip().casefold() in YES)
        if not programs.any():
            return None
        everybody, some = self.sheet.frame[worker], self.sheet.frame[worker][programs]
        return Answerers(some.nunique(), everybody.nunique() - some.nunique())

    def manifest(self) -> dict[str, Any]:
        """What was read, how, and what was left out, as plain values. Line numbers are those of the file."""
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
    mapping: ColumnMapping,
    *,
    study: str,
    options: Options | None = None,
    from_zero: bool = False,
    contradictions: Contradictions = "refuse",
    same_rows: bool = False,
    asked: Asked = DETECTION,
) -> Imported:
    """The response table of a sheet whose worker ids are already pseudonyms.

    A form with several passages (columns with {}) becomes a row for each. `position` and `choice` are whole
    numbers 1–5 (0–4 with `from_zero`), also inside text with one number (`Sentence 3`). For another question
    they go up to as many as it may have, and so do its own fields. Passages without an
    answer are left out and counted. So are repeated rows, equal in every column; with `same_rows` they are
    kept and noted, for a rule that counts first answers. `contradictions` decides about two different answers
    to one passage by one worker in one form. Raises InputError with all lines that cannot be read, unless
    `options.skip_bad`.
    """
    options = options or Options()
    same = list(sheet.frame.index[sheet.frame.duplicated()])
    if same_rows:
        told = f"{counted(len(same), 'repeated row')}, equal in every column"
        sheet = sheet.noted(f"{told}: scores count each once ({at(same)})" if same else "")
    else:
        sheet = sheet.without("repeated row", same)
    sheet = sheet.noted(*mapping.notes)
    frame, sheet = _long(sheet, mapping)
    blank = frame[["choice", *asked.fields]].isna().any(axis=1)
    open_passages = frame[blank]
    sheet = _dropped(sheet, frame, blank, "no answer")
    frame, sheet = _readable(frame[~blank], sheet, options, from_zero, asked)
    if frame.empty:
        raise InputError("no responses are left: " + "; ".join(str(left) for left in sheet.left_out))
    frame = frame.astype(dict.fromkeys(("position", "choice", *asked.fields), "int64"))
    frame, sheet = _values(frame, sheet, options)
    frame, sheet = _once(frame, sheet, contradictions, same)
    frame = with_row_passages(frame, open_passages)
    sheet = with_remarks(sheet, frame)
    frame = frame.drop(columns="line").assign(study=study, endpoint=ENDPOINT, **asked.column)
    return Imported(frame.reset_index(drop=True), sheet, mapping)


def _readable(
    frame: pd.DataFrame, sheet: Sheet, options: Options, from_zero: bool, asked: Asked
) -> tuple[pd.DataFrame, Sheet]:
    """The responses that can be read, with numbers for places. The others are refused or counted."""
    bad: dict[str, pd.Series[bool]] = {}
    places = {
        name: frame[name].map(lambda cell: _place(cell, from_zero, asked.most))
        for name in ("position", "choice", *asked.fields)
    }
    what = "sentence" if asked == DETECTION else "number"
    for name in (*REQUIRED, *asked.fields):
        bad[f"{name} is empty"] = frame[name].isna()
        if name in places:
            bad[f"{name} is not a {what} from 1 to {asked.most}"] = places[name].isna() & frame[name].notna()
    if "role" in frame.columns:
        words = frame["role"].map(lambda cell: str(cell).strip().casefold())
        known = words.isin(list(Role))
        if known.any():
            bad[f"role is not one of {', '.join(Role)}"] = ~known
        else:
            frame = frame.drop(columns="role")
            sheet = sheet.noted(f"the column role is not read: it never says {' or '.join(Role)}")
    if "test" in frame.columns:
        words = frame["test"].astype(str).str.casefold()
        bad["test is neither true nor false"] = frame["test"].notna() & ~words.isin(YES | NO)
    found = {cause: list(frame.loc[rows, "line"]) for cause, rows in bad.items() if rows.any()}
    if found and not options.skip_bad:
        told = "; ".join(f"{cause} ({at(lines, MENDED)})" for cause, lines in found.items())
        unreadable = pd.DataFrame(bad).any(axis=1)
        raise InputError(
            f"{counted(int(unreadable.sum()), 'response')} cannot be read: {told}", _hint(found, from_zero)
        )
    frame = frame.assign(**places)
    for cause, rows in bad.items():
        rows = rows.reindex(frame.index)
        sheet = _dropped(sheet, frame, rows, cause)
        frame = frame[~rows]
    return frame, sheet


def _long(sheet: Sheet, mapping: ColumnMapping) -> tuple[pd.DataFrame, Sheet]:
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
    note = (
        f"{counted(len(numbers), 'passage')} a row: {counted(len(sheet.frame), 'row')} give {len(frame)}"
        if wide
        else ""
    )
    return text.assign(line=frame["line"]), sheet.noted(note)


def _stripped(cell: object) -> object:
    text = "" if cell is None or cell is pd.NA or cell != cell else str(cell).strip()
    return text or None


def _place(cell: object, from_zero: bool, most: int) -> int | None:
    text = str(cell)
    try:
        number = float(text)
    except ValueError:
        runs = re.findall(r"\d+", text)
        if len(runs) != 1:
            return None
        number = float(runs[0])
    if not math.isfinite(number):
        return None
    place = number + from_zero
    return int(place) if place == int(place) and 1 <= place <= most else None


def _hint(causes: Iterable[str], from_zero: bool) -> str:
    hints = ["--skip-bad leaves such responses out and counts them."]
    if any("is not a" in cause for cause in causes) and not from_zero:
        hints.insert(0, "If the file counts sentences from 0: --from-zero.")
    if any(cause.startswith("test ") for cause in causes):
        hints.insert(0, "If the column test means something else: --constant test=no.")
    return " ".join(hints)


def _dropped(sheet: Sheet, frame: pd.DataFrame, rows: pd.Series[bool], cause: str) -> Sheet:
    """Count the dropped responses: whole rows of the file as rows, single passages of a form in a note."""
    if not rows.any():
        return sheet
    gone = frame.loc[rows, "line"]
    staying = set(frame.loc[~rows, "line"])
    whole = [line for line in dict.fromkeys(gone) if line not in staying]
    part = int((~gone.isin(whole)).sum())
    sheet = sheet.without(cause, [line for line in whole if line in sheet.frame.index])
    lines = list(dict.fromkeys(line for line in gone if line in staying))
    return sheet.noted(f"{counted(part, 'passage')} left out: {cause} ({at(lines)})" if part else "")


def _values(frame: pd.DataFrame, sheet: Sheet, options: Options) -> tuple[pd.DataFrame, Sheet]:
    """Times in UTC, seconds as numbers, tests as booleans. Other cells become empty and are counted."""
    for generator, line in zip(frame["generator"], frame["line"], strict=True):
        if generator is not None and is_path(str(generator)):
            raise InputError(f"line {line}: {generator!r} is a path, and cannot be the name of a generator")
    here = zone(options.time_zone or sheet.time_zone or None)

    def whole(text: str) -> int | None:
        return int(float(text)) if re.fullmatch(r"\d{1,15}(\.0+)?", text) else None

    readers: dict[str, Callable[[str], object]] = {
        "seconds": duration,
        "submitted_at": lambda text: found.isoformat() if (found := moment(text, here)) else None,
        "shown_at": lambda text: found.isoformat() if (found := moment(text, here)) else None,
        "order": whole,
        "words": whole,
        "row_passages": whole,
        "test": lambda text: text.casefold() in YES if text.casefold() in YES | NO else None,
    }
    for name, read in readers.items():
        if name not in frame.columns:
            continue
        old = frame[name]
        new = old.map(lambda cell, read=read: None if pd.isna(cell) else read(str(cell))).astype(object)
        lost = old.notna() & new.isna()
        if lost.any():
            hint = " (give --time-zone)" if name.endswith("_at") and here is None else ""
            sheet = sheet.noted(
                f"{name}: {counted(int(lost.sum()), 'cell')} cannot be read{hint}, left empty; for example "
                f"{old[lost].iloc[0]!r} (line {frame.loc[lost, 'line'].iloc[0]})"
            )
        if name == "test":
            new = new.map(lambda cell: bool(cell)).astype(bool)
        frame = frame.assign(**{name: new})
    return frame, sheet


def _once(
    frame: pd.DataFrame, sheet: Sheet, contradictions: Contradictions, same: Sequence[Hashable]
) -> tuple[pd.DataFrame, Sheet]:
    """Decide about different answers by one worker to one passage in one form, or refuse them."""
    form = ["worker", "story", "generator", *(n for n in ("other", "assignment") if n in frame.columns)]
    passage = frame.groupby(form, sort=False, dropna=False).ngroup()
    said = pd.DataFrame({"passage": passage, "position": frame["position"], "choice": frame["choice"]})
    distinct = said.drop_duplicates()["passage"]
    clash = passage.isin(distinct[distinct.duplicated()])
    n = passage[clash].nunique()
    lines = at(list(frame.loc[clash, "line"]), MENDED)
    what = f"{counted(n, 'passage', 'has', 'have')} two different answers by one worker"
    if n and contradictions == "refuse":
        raise InputError(
            f"{what}: {lines}",
            "Choose which one counts: --contradictions first, last or keep.",
        )
    if n and contradictions == "keep":
        sheet = sheet.noted(f"{what}, all kept: {lines}")
    elif n:
        gone = clash & passage.duplicated(keep="first" if contradictions == "first" else "last")
        sheet = _dropped(sheet, frame, gone, f"contradicts the {contradictions} answer of the same worker")
        frame, clash = frame[~gone], clash[~gone]
    told = frame["line"].isin(same)
    return frame, _said_again(frame[~told], clash[~told], sheet)


def _said_again(frame: pd.DataFrame, clash: pd.Series[bool], sheet: Sheet) -> Sheet:
    passage = ["worker", "story", "generator", *(["other"] if "other" in frame.columns else [])]
    again = frame.duplicated(passage, keep=False) & ~clash
    n = len(frame.loc[again, passage].drop_duplicates())
    if not n:
        return sheet
    return sheet.noted(
        f"{counted(n, 'passage', 'was', 'were')} answered again by the same worker: "
        f"scores count the first answer ({at(list(frame.loc[again, 'line']))})"
    )


def the_study(sheet: Sheet) -> str:
    """The study that the column `study` names; empty if it names none. Raises InputError for several."""
    names = [] if "study" not in sheet.frame.columns else list(sheet.frame["study"].dropna().unique())
    if len(names) > 1:
        raise InputError(
            f"the file has responses of {len(names)} studies ({listed(names)}), and studies are not pooled",
            "Make a file for each study.",
        )
    return str(names[0]).strip() if names else ""


ROW_AS_WORKER = "(row as worker)"


def with_rows_as_workers(sheet: Sheet) -> Sheet:
    """The sheet with a column ROW_AS_WORKER, in which every row is another worker."""
    frame = sheet.frame.assign(**{ROW_AS_WORKER: [f"row {line}" for line in sheet.frame.index]})
    return replace(sheet, frame=frame.astype(object)).noted(
        "every row counts as another worker: if a worker has several rows, the intervals are too narrow"
    )
