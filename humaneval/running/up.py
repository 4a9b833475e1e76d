"""`up`: marketplace, forms and the requester's pages together, around one study, until somebody ends it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from humaneval.crowd.adopt import adopt
from humaneval.crowd.collect import collect_work
from humaneval.crowd.plan_differences import look
from humaneval.crowd.publish import PublishResult, publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.published_hits import is_static, preview_urls, refuse_elsewhere, up
from humaneval.crowd.status import EndpointStatus
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.crowd.unaccepted import refuse_differing
from humaneval.errors import HumanEvalError, PlatformError, PrerequisiteError
from humaneval.market.protocol.addresses import is_loopback
from humaneval.progress import progress
from humaneval.running.addresses import Places, refuse_overtaken
from humaneval.running.borrowed_market import BorrowedMarket
from humaneval.running.listening import HERE
from humaneval.running.other_studies import OtherStudies
from humaneval.running.servers import OpenAt, forms_up, market_up
from humaneval.running.watch import EndedError, Ending, Trouble, standing, watch
from humaneval.settings import EVERYWHERE, Settings
from humaneval.text import command
from humaneval.web.requester import requester_address
from humaneval.web_server import until_told


class Addresses(NamedTuple):
    """What is open in a browser."""

    annotators: str
    requester: str
    market: str
    forms: str
    started_market: bool
    """Whether the marketplace was started here. Otherwise it was there, and it stays."""
    joined: bool
    """Whether the forms were served already, by another `up` say. They stay, too."""


class Reporter(Protocol):
    """Tells people or programs what happens."""

    def up(self, addresses: Addresses, published: PublishResult) -> None:
        """Everything is up."""

    def beside(self, study: str) -> None:
        """Another study is up at the same place, and is collected here."""

    def progress(self, line: EndpointStatus) -> None:
        """Somebody opened a form, or sent one."""

    def trouble(self, error: HumanEvalError) -> None:
        """Something needs a look. It does not end anything."""

    def complete(self) -> None:
        """The planned number is in."""

    def ending(self) -> None:
        """Somebody has asked to end."""

    def ended(self, line: EndpointStatus | None) -> None:
        """The servers have ended; None if nothing was published yet."""


def bring_up(at: StudyAtPlatform, places: Places, open_at: OpenAt, token: str, reporter: Reporter) -> None:
    """Serve everything, publish what is missing, and collect until Ctrl-C or SIGTERM.

    Other studies that are up there are collected, too.
    Nothing is lost by an end at any moment, not even by a kill: the next run goes on.
    """
    ending, settings, invitation = Ending(), places.settings, ""
    lent = (
        BorrowedMarket(settings.market_url, at.name, reporter.trouble) if places.market_file is None else None
    )
    trouble = lent.trouble if lent else reporter.trouble
    beside = OtherStudies(at, open_at, ending, trouble, reporter.beside)

    def look_around() -> None:
        # Whoever serves the forms collects the others.
        if not (lent and lent.look()) and not places.joins:
            beside()

    with ExitStack() as stack:
        stack.enter_context(until_told(ending))
        if places.market_file is None:
            _check_market(at, joins=places.joins)
        else:
            market = market_up(places.market_file, port=places.market_port, settings=settings)
            invitation = stack.enter_context(market).invitation
        forms = forms_up(settings, at.engine, open_at, port=settings.port, token=token)
        with nullcontext() if places.joins else forms:
            if not places.joins:
                refuse_overtaken(settings, at.name)
            with suppress(EndedError):
                published = publish_rest(at, settings.public_url, ending)
                reporter.up(_addresses(at, places, invitation, token), published)
                _tell_over(at, reporter)
                _work(at, settings, ending, reporter, trouble, look_around)
            reporter.ending()
        # No form can come any more, and what was sent before is at the marketplace.
        try:
            collect_work(at)
        except HumanEvalError as error:
            trouble(error)
        beside.finish()
    reporter.ended(standing(at))


def _check_market(at: StudyAtPlatform, *, joins: bool) -> None:
    """Raise PrerequisiteError if the marketplace does not answer, or not to us."""
    try:
        at.platform.check_access()
    except HumanEvalError as error:
        hint = "Another program serves the forms alone. End it, and run this again." if joins else error.hint
        raise PrerequisiteError(error.message, hint) from None


def publish_rest(at: StudyAtPlatform, public_url: str, ending: Ending) -> PublishResult:
    """Put up what is not up yet, as `publish` does. Raises EndedError between two HITs."""
    refuse_elsewhere(at)
    adopt(at)
    look(at, up(at.study, at.endpoint))
    plan = plan_hits(at, static=is_static(at.study, at.endpoint))
    bar = progress(f"Publishing to {at.endpoint}", plan.hits, unit="HITs") if plan.hits else nullcontext()
    with bar as advance:

        def count(amount: int) -> None:
            if advance is not None:
                advance(amount)
            ending.check()

        result = publish_hits(at, public_url=public_url, keys=plan.keys, advance=count)
    refuse_differing(at, result.differences)
    return result


def _work(
    at: StudyAtPlatform,
    settings: Settings,
    ending: Ending,
    reporter: Reporter,
    trouble: Trouble,
    beside: Callable[[], None],
) -> None:
    """Collect until the end. A study that tops up gets HITs for the rows of those who were left out."""
    while not ending.asked():
        watch(at, ending, reporter.progress, trouble, until=_is_complete, beside=beside)
        try:
            more = 0 if ending.asked() else publish_rest(at, settings.public_url, ending).made
        except HumanEvalError as error:
            more = 0
            trouble(error)
        if not (more or ending.asked()):
            reporter.complete()
            watch(at, ending, trouble=trouble, beside=beside)


def _tell_over(at: StudyAtPlatform, reporter: Reporter) -> None:
    """Say that nobody can take a form any more."""
    line = standing(at)
    if line is not None and not line.hits_up and not _is_complete(line):
        reporter.trouble(
            PlatformError(
                f"the time of all HITs of study {at.name!r} is over",
                f"To keep them up longer, while this runs: {command('extend', at.name, '--days', '7')}",
            )
        )


def _is_complete(line: EndpointStatus) -> bool:
    return line.submitted >= line.planned


def _beside(places: Places, settings: Settings) -> str:
    """Where the requester's pages are: on this machine under the host of the marketplace, so that one host
    is printed. Forms keep another one: browsers send cookies to all ports of a host."""
    forms = urlsplit(settings.public_url)
    market = urlsplit(settings.market_site or settings.market_url)
    all_here = is_loopback(forms.hostname or "") and is_loopback(market.hostname or "")
    if not all_here or settings.host not in (HERE, *EVERYWHERE) or market.hostname != HERE:
        return settings.public_url
    return forms._replace(netloc=f"{HERE}:{forms.port or settings.port}").geturl()


def _addresses(at: StudyAtPlatform, places: Places, invitation: str, token: str) -> Addresses:
    settings = places.settings
    return Addresses(
        annotators=invitation or preview_urls(at.study, at.platform.endpoint)[0],
        requester=requester_address(_beside(places, settings), token),
        market=settings.market_site or settings.market_url,
        forms=settings.public_url,
        started_market=places.market_file is not None,
        joined=places.joins,
    )
