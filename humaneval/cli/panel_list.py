"""What `status --panel-list` says of a panel's own list of people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from humaneval.cli.context import emit, say
from humaneval.crowd.panel_list import Differs, ListCompared, compare_list
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import PartialError
from humaneval.text import command, counted

MOST = 20
"""Lines or people named in one line of text; `--json` has all."""


def tell_panel_list(at: StudyAtPlatform, path: Path, *, as_json: bool) -> None:
    """Compare a panel's list with our answers and say what differs. Raises PartialError then."""
    found = compare_list(at, path)
    if as_json:
        emit({"study": at.name, "panel_list": found.to_json()})
    else:
        for line in list_lines(found, at.sign):
            say(line)
    if not found.agrees:
        raise PartialError(
            f"{path} differs from the answers of study {at.name!r}",
            "Nothing was changed. Decide about these people at the panel. Its id of a person, and what is"
            f" kept about them: {command('worker', 'export', 'WORKER')}",
        )


def list_lines(found: ListCompared, sign: str) -> Iterator[str]:
    """What differs between a panel's list and our answers, one kind in each line."""
    for note in found.notes:
        yield f"Note: {note}."
    yield (
        f"The list has {counted(found.lines, 'line')}, {found.done_there:,} of them done."
        f" {counted(found.sent_here, 'form was', plural='forms were')} sent here; {found.agree:,} agree."
    )
    if found.sent_away:
        away = counted(found.sent_away, "line has", plural="lines have")
        yield f"{away} the code of people who got no form."
    begun, never, forgotten = (
        [each for each in found.not_here if each.why == why] for why in ("begun", "", "forgotten")
    )
    if never:
        yield f"Done there, and never here: {_lines(never)}. Look at them before you pay them."
    if begun:
        yield f"Done there, and begun but not sent here: {_lines(begun)}. Look at them before you pay them."
    if forgotten:
        yield f"Done there, and forgotten here on request: {_lines(forgotten)}."
    if found.twice:
        yield f"There again, beyond the forms that they sent: {_lines(found.twice)}."
    if found.not_there:
        yield f"Sent here, and not in the list: {_some(found.not_there)}."
    for outcome in dict.fromkeys(each.why for each in found.not_done):
        same = [each for each in found.not_done if each.why == outcome]
        yield f"Sent here, and {outcome or 'without an outcome'} there: {_lines(same)}."
    for ended in dict.fromkeys(each.why for each in found.other_code):
        same = [each for each in found.other_code if each.why == ended]
        yield f"Not the code that they got ({ended.replace('_', ' ')}): {_lines(same)}."
    if found.ids_deleted:
        yield (
            f"{counted(found.ids_deleted, 'form was', plural='forms were')} sent by people whose ids were"
            " deleted here, and whom the list does not have."
        )
    if found.to_pay:
        sum_of = "" if found.owed is None else f", {sign}{found.owed} in all"
        yield (f"Done here, and the panel may not pay it by itself: {counted(found.to_pay, 'form')}{sum_of}.")
    if found.agrees:
        yield "The list and our answers agree."


def _lines(differing: Sequence[Differs]) -> str:
    named = [f"{each.line} ({each.worker})" if each.worker else str(each.line) for each in differing]
    return f"{'line' if len(named) == 1 else 'lines'} {_some(named)}"


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST
    return ", ".join(names[:MOST]) + (f" and {more:,} more" if more > 0 else "")
