"""Two boto3 clients for one endpoint, and errors that say in one line what happened and whether anything was
done.

Calls that carry a token, only read, or set a value may be sent again by botocore after a fault. Approvals,
rejections, blocks, messages and qualifications carry no token: their client sends them once, and our own code
decides on a repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    ProfileNotFound,
)
from botocore.session import Session as BotocoreSession

from humaneval.crowd.platform import Endpoint
from humaneval.errors import PlatformError
from humaneval.text import command, quoted
from humaneval.timed_replies import is_loopback

if TYPE_CHECKING:
    from types_boto3_mturk import MTurkClient

T = TypeVar("T")
REGION = "us-east-1"
CLOSED = "Closed"
"""The error code of a service that is closed."""

_BAD_KEYS = frozenset(
    {
        "UnrecognizedClientException",
        "InvalidSignatureException",
        "AccessDeniedException",
        "InvalidClientTokenId",
    }
)


class TurkClient:
    """The clients of one endpoint. `profile` is an AWS profile; `local` needs neither profile nor keys."""

    def __init__(self, endpoint: Endpoint, profile: str = "", keys: str = "", session: Any = None) -> None:
        """`keys` are ID:SECRET pairs of the local marketplace; the first one signs."""
        self._endpoint = endpoint
        # If the service is known to have closed, waiting longer is useless.
        tries = 3 if endpoint.closed_since else 8
        with _MAKING:
            session = session or _session(endpoint, profile)
            self.tokened, self.once = (
                _client(endpoint, keys, session, retries={"mode": "standard", **attempts})
                for attempts in ({"max_attempts": tries}, {"total_max_attempts": 1})
            )

    def call(self, what: str, call: Callable[[], T]) -> T:
        """Make a call. An error of botocore becomes a PlatformError: the platform would not, or could not, do
        `what`."""
        where = f"{self._endpoint.name} ({self._endpoint.api_url})"
        try:
            return call()
        except ClientError as error:
            code = str(error.response.get("TurkErrorCode") or error.response["Error"]["Code"])
            message = quoted(error.response.get("Message") or error.response["Error"]["Message"], 500)
            if "<" in message and code.isdecimal():
                message = f"it answered HTTP {code} with a page, which no marketplace does"
            status = error.response["ResponseMetadata"]["HTTPStatusCode"]
            if self._endpoint.closed_since and code.isdecimal() and status in (403, 404, 410):
                raise self._closed(f"HTTP {status}") from error
            if status >= 500:
                raise PlatformError(
                    f"{where} did not say whether it could {what}: {message}",
                    "It may have been done. Run the same command again: it looks up what was done, and does"
                    " nothing twice.",
                    code,
                ) from error
            raise PlatformError(
                f"{where} would not {what}: {message}", _hint(code, self._endpoint), code, nothing_done=True
            ) from error
        except EndpointConnectionError as error:
            if self._endpoint.closed_since:
                raise self._closed("nothing answers there") from error
            raise PlatformError(
                f"{where} could not {what}: {quoted(error, 500)}",
                f"It runs while `{self._endpoint.starts}` does."
                if self._endpoint.starts
                else f"Is `{command('market', 'serve')}` running?",
                type(error).__name__,
                nothing_done=True,
            ) from error
        except BotoCoreError as error:
            raise PlatformError(
                f"{where} could not {what}: {quoted(error, 500)}",
                "Check the network and your AWS credentials.",
                type(error).__name__,
                nothing_done=isinstance(error, (NoCredentialsError, ParamValidationError)),
            ) from error

    def pages(self, what: str, operation: str, **request: Any) -> Iterator[Any]:
        """Every page of a listing."""
        # The name is botocore's own; its types know each by a literal.
        paginator: Any = self.tokened.get_paginator(operation)  # type: ignore[call-overload]  # see above
        remaining = iter(paginator.paginate(**request, PaginationConfig={"PageSize": 100}))
        while (page := self.call(what, lambda: next(remaining, None))) is not None:
            yield page

    def _closed(self, how: str) -> PlatformError:
        return PlatformError(
            f"Mechanical Turk closed on {self._endpoint.closed_since}: {self._endpoint.api_url} is not in"
            f" service ({how})",
            f"Run your own marketplace (`{command('market', 'serve')}`, --to local), or use --to link.",
            CLOSED,
            nothing_done=True,
        )


_MAKING = Lock()
"""A session must not make two clients at once."""


@cache
def _local_session() -> Any:
    """The session of every client of a self-hosted marketplace. AWS profiles and files do not affect it.

    It is kept because most of the time for a new client goes into reading the service's model, which the
    session keeps.
    """
    nothing = (None, None, None, None)
    return boto3.Session(
        botocore_session=BotocoreSession(session_vars={"profile": nothing, "config_file": nothing})
    )


def _session(endpoint: Endpoint, profile: str) -> Any:
    if endpoint.name == "local":
        return _local_session()
    try:
        return boto3.Session(profile_name=profile or None)
    except ProfileNotFound as error:
        raise PlatformError(str(error), "Set AWS_PROFILE to one of the profiles in ~/.aws/config.") from None


def _client(endpoint: Endpoint, keys: str, session: Any, *, retries: Any) -> MTurkClient:
    config = Config(
        retries=retries,
        connect_timeout=10,
        read_timeout=60,
        user_agent_extra="humaneval",
        proxies={} if is_loopback(endpoint.api_url) else None,  # None: those of the environment
    )
    key_id, _, secret = (keys.split() or ["local:local"])[0].partition(":")
    pair = {"aws_access_key_id": key_id, "aws_secret_access_key": secret} if endpoint.name == "local" else {}
    client = session.client("mturk", region_name=REGION, endpoint_url=endpoint.api_url, config=config, **pair)
    client.meta.events.register_first("needs-retry.mturk", _take_pages_for_failures)
    return client  # type: ignore[no-any-return]  # a session is typed nowhere


def _take_pages_for_failures(response: Any, operation: Any, **_: Any) -> None:
    """Make an HTTP 200 that no service has sent, but a proxy or a network's sign-in page, or that is cut off,
    an HTTP 502: botocore takes it for success, and most operations reply with nothing that would be missed.
    """
    if response is None or response[0].status_code >= 300 or _is_whole(response[0], response[1], operation):
        return
    response[0].status_code = 502
    response[1].clear()
    response[1].update(
        Error={"Code": "502", "Message": "what came is no reply of a marketplace, or not all of one"},
        ResponseMetadata={"HTTPStatusCode": 502},
    )


def _is_whole(reply: Any, parsed: Mapping[str, Any], operation: Any) -> bool:
    """Whether a reply is a service's, and all of it."""
    headers = {name.lower(): text for name, text in reply.headers.items()}
    if "x-amz-json" not in headers.get("content-type", "") and "x-amzn-requestid" not in headers:
        return False
    body = reply.content.strip()
    if headers.get("content-length", str(len(reply.content))) != str(len(reply.content)):
        return False
    wanted = set(operation.output_shape.members) if operation.output_shape else set()
    if operation.name == "NotifyWorkers":  # may have nothing to say
        wanted = set()
    return body[-1:] in (b"}", b"") and not (wanted and wanted.isdisjoint(parsed))


def _hint(code: str, endpoint: Endpoint) -> str:
    if "InsufficientFunds" in code:
        return f"{endpoint.add_funds}, then run the command again; it continues where it stopped."
    if code in _BAD_KEYS:
        if endpoint.name == "local":
            return "Set HUMANEVAL_MARKET_KEYS to ID:SECRET of a key of this marketplace."
        return f"Check the AWS keys of your profile for {endpoint.name}."
    return f"The platform's code is {code}."
