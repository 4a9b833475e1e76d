"""What is said about a study's progress: lines in words, and the command for each decision that waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from humaneval.crowd.hit_terms import Difference, told, unaccepted
from humaneval.crowd.platform import CSV
from humaneval.crowd.published_hits import GONE, go_on_command, more_command
from humaneval.crowd.review import Undecided
from humaneval.crowd.status import EndpointStatus
from humaneval.study.stored import fetch_command, longer_command
from humaneval.text import Steps, command, counted, time_taken

FEW_HOURS = 96
"""From so many hours on, a time is told in days."""


class Line(NamedTuple):
    """A line that is said, with the command in it that a person can run next."""

    before: str
    command: str = ""
    after: str = ""
    waits: bool = False
    """Whether something is wrong, or waits for a person; otherwise the line states a figure."""

    def __str__(self) -> str:
        return self.before + self.command + self.after

    @property
    def fact(self) -> str:
        """The line without its command, if one waits: for output that names the commands at the end."""
        return f"{self.before.rstrip(' :.`')}." if self.command and self.waits else str(self)


def unpublished(study: str, put_up: str = "") -> Line:
    """The line for a study that is up nowhere, with the command that puts it up."""
    put_up = put_up or command("publish", study, "--to", "local")
    return Line(f"{study} is not published: ", put_up, waits=True)


def progress_lines(line: EndpointStatus, study: str, moment: datetime) -> Iterator[Line]:
    """How far the study is at an endpoint, and what waits there."""
    go_on = go_on_command(study, line.endpoint, line.audience)
    things = "links" if line.endpoint == "link" else "HITs"
    if line.hits_unsent == line.hits:
        yield Line(
            f"{line.endpoint}: not published. {counted(line.hits, things[:-1])} with"
            f" {counted(line.planned, 'form')} planned; none was sent: ",
            go_on,
            waits=True,
        )
    else:
        yield from _work(line, study, things, go_on)
        # In the order in which they are best done: what is not collected cannot be reviewed.
        yield from _waiting(line, study)
        yield from _decisions(line, study, moment)
    if line.refused:
        yield Line(
            f"{counted(line.refused, 'write')} refused by {line.endpoint} or never sent; nothing was done.",
            waits=True,
        )
    if line.unconfirmed:
        yield Line(
            f"{counted(line.unconfirmed, 'write')} to {line.endpoint} not confirmed; run the interrupted"
            " command again (messages with --again).",
            waits=True,
        )


def owed_line(line: EndpointStatus, study: str) -> Line | None:
    """How a person says that what is owed at a marketplace of one's own was paid; None if nothing is owed."""
    if not (line.is_own and line.owed):
        return None
    return Line(
        f"Once you have paid people the {line.sign}{line.owed} that you owe: ",
        command("review", study, "--to", line.endpoint, "--paid", "--spend", str(line.owed)),
    )


def left_out(line: EndpointStatus) -> str:
    """Why collected forms do not count, and how many each: `2 missed the control`; empty if all count."""
    return ", ".join(f"{number:,} {why}" for why, number in sorted(line.left_out.items()))


def next_steps(study: str, lines: Sequence[EndpointStatus], said: Sequence[Line], start: str = "") -> Steps:
    """What to run next, of all that waits in `said`. If nothing waits, it is a look at the work, while more
    can come and something is undecided, or a look at the scores. While nobody has come, it is `start` or a
    look whether anybody has; or what lets people come, if they no longer can."""
    if waiting := [each.command for each in said if each.command and each.waits]:
        return Steps.of(waiting)
    more = [line.endpoint for line in lines if line.hits_up and line.submitted < line.planned]
    if any(line.submitted for line in lines):
        undecided = [line.endpoint for line in lines if line.submitted > line.approved + line.rejected]
        look = command("review", study, "--to", undecided[0]) if more and undecided else ""
        return Steps.of([look or command("score", study)])
    if more:
        return Steps.of([start] if start else [fetch_command(study, endpoint) for endpoint in more])
    over = [longer_command(study, line.endpoint) for line in lines if line.hits_over > line.hits_closed]
    return Steps.of(over or [command("study", "create", "NAME")])


def _work(line: EndpointStatus, study: str, things: str, go_on: str) -> Iterator[Line]:
    done_at = f"about done at {line.about_done_at:%Y-%m-%d %H:%M} UTC; " if line.about_done_at else ""
    sign = line.sign
    why = f" ({each})" if (each := left_out(line)) else ""
    yield Line(
        f"{line.endpoint}: {line.submitted} of {line.planned} submitted, {line.usable} usable{why}; {done_at}"
        f"{'approved' if line.is_own else 'spent'} {sign}{line.rewards if line.is_own else line.spent}"
        f"{' of play money' * line.pretended}."
    )
    down = line.hits_over - line.hits_closed
    over = f", {down} over or taken down" if down else ""
    over += f", {line.hits_closed} deleted" if line.hits_closed else ""
    over += f", {line.hits_gone} gone at {line.endpoint}" if line.hits_gone else ""
    money = (
        f"you owe people {sign}{line.owed}, and nobody takes fees"
        if line.is_own
        else f"{sign}{line.rewards} paid + {sign}{line.fees} fees{', which nobody pays' * line.pretended}"
    )
    yield Line(
        f"{line.approved} approved, {line.opened} open now; {line.hits_up} of"
        f" {counted(line.hits, things[:-1])} up{over}; {money}."
    )
    if line.hits_closed and line.submitted < line.planned:
        yield Line(f"It is closed at {line.endpoint}, and stays so. More people need another study.")
    if line.due_later:
        forms = counted(line.to_approve, "form", "is", "are")
        yield Line(f"{sign}{line.due_later}{' more' * bool(line.owed)} will be due when {forms} approved.")
    if owed := owed_line(line, study):
        yield owed
    if line.settled:
        yield Line(f"{sign}{line.settled} is entered as paid.")
    if line.paid_elsewhere:
        yield Line(f"{sign}{line.paid_elsewhere} of it was paid elsewhere, by hand.")
    if line.hits_unsent:
        yield Line(f"{line.hits_unsent} of them were not sent yet: ", go_on, waits=True)
    elif line.added:
        new = f"{counted(line.added, 'new form')} of the enlarged study not put up yet: "
        if line.audience == "personal":
            yield Line(f"{new}add people to your list, and publish it again with --people.", waits=True)
        else:
            put_up = more_command(study, line.endpoint, line.audience, line.planned + line.added)
            yield Line(new, put_up, waits=True)
    if line.median_minutes is not None and line.hourly is not None:
        yield Line(
            f"Median time {time_taken(line.median_minutes)}{' (simulated)' * line.by_programs}:"
            f" {sign}{line.hourly} per hour, expected {sign}{line.hourly_expected}."
        )


def _decisions(line: EndpointStatus, study: str, moment: datetime) -> Iterator[Line]:
    review = command("review", study, "--to", line.endpoint)
    if line.crowded_out:
        yield Line(
            f"{counted(line.crowded_out, 'form')} without answers and without a place, because late answers"
            " took the place; more places can be given: ",
            command("publish", study, "--to", "link", "--places", "NUMBER"),
            waits=True,
        )
    if line.rejected:
        yield Line(f"{line.rejected} rejected: not paid, and left out of scores.")
    if line.strays:
        yield Line(
            f"{line.strays} submitted that match no form of this study. `", review, "` lists them.", True
        )
    if line.compensations_due:
        yield Line(
            f"{counted(line.compensations_due, 'compensation')} not taken yet, as of the last collection."
        )
    if line.next_auto_approval:
        left = max(0.0, (line.next_auto_approval - moment).total_seconds() / 3600)
        time = f"{left:.0f} hours" if left < FEW_HOURS else f"{left / 24:.0f} days"
        yield Line(
            f"Without a decision, {line.endpoint} will approve the oldest form that waits, in {time}: ",
            review,
            waits=True,
        )


def _waiting(line: EndpointStatus, study: str) -> Iterator[Line]:
    """What waits for `collect`, and what stops money."""
    collect = command("collect", study, "--to", line.endpoint)
    if line.not_collected:
        submitted = "" if line.endpoint == "link" else " submitted,"
        yield Line(f"{line.not_collected}{submitted} not collected yet: ", collect, waits=True)
    if line.lost:
        yield Line(
            f"{line.lost} answered on our server, at HITs that {line.endpoint} does not have; they can be"
            " taken in: ",
            f"{collect} --accept-lost",
            waits=True,
        )
    elif line.answered and line.endpoint != "link":
        yield Line(f"{line.answered} answered on our server and not yet submitted.")
    yield from _of_panel(line, collect)
    if line.silent:
        yield Line(f"What is submitted at {line.endpoint} is not known: {line.silent}", waits=True)
    figures = [each for each in line.hits_differ if each.what != GONE]
    yield from difference_lines(figures, line.endpoint, line.sign)
    if unaccepted(figures):
        yield Line(
            f"We approve and pay nothing before it is corrected at {line.endpoint}, or accepted: ",
            f"{collect} --accept-differences",
            waits=True,
        )


def _of_panel(line: EndpointStatus, collect: str) -> Iterator[Line]:
    """Whom their panel does not credit yet."""
    if line.not_told:
        people = counted(line.not_told, "person", "is", "are", plural="people")
        yield Line(f"{people} not credited by the panel yet: ", collect, waits=True)
    if line.unsure_told:
        people = counted(line.unsure_told, "person", plural="people")
        yield Line(
            f"Whether the panel credits {people} is not known, because its reply was lost: ",
            f"{collect} --again",
            waits=True,
        )


def difference_lines(differences: Sequence[Difference], endpoint: str, sign: str = "$") -> Iterator[Line]:
    """How HITs differ from the plan, and which differences somebody has accepted."""
    waiting = unaccepted(differences)
    for words in told(waiting, endpoint, sign):
        yield Line(f"Not as planned: {words}", waits=True)
    for words in told([each for each in differences if each not in waiting], endpoint, sign):
        yield Line(f"Not as planned, and accepted: {words}")


def stray_lines(study: str, endpoint: str, strays: int) -> Iterator[Line]:
    """How many submissions that match no form wait for a decision."""
    none = f"{counted(strays, 'submission', 'matches', 'match')} no form of this study."
    if strays and endpoint == CSV:
        yield Line(f"{none} Decide on each at the site of the batch.")
    elif strays:
        say = command("approve", study, "ID", "--to", endpoint)
        yield Line(f"{none} Approve or reject each by its id: ", say, waits=True)


def waiting_lines(study: str, endpoint: str, waiting: Undecided) -> Iterator[Line]:
    """How many wait for approval."""
    if not waiting.forms:
        return
    if endpoint == CSV:
        yield Line(
            f"{counted(waiting.forms, 'form', 'waits', 'wait')} for approval at the site of the batch."
        )
        return
    when = (
        f". Without a decision, {endpoint} will approve the oldest at {waiting.deadline:%Y-%m-%d %H:%M} UTC"
        if waiting.deadline
        else ""
    )
    yield Line(
        f"{counted(waiting.forms, 'form', 'waits', 'wait')} for approval{when}. To approve them all: ",
        command("review", study, "--to", endpoint, "--approve"),
        waits=True,
    )
