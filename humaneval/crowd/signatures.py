"""What the marketplace and our form server tell each other by a secret of the HIT: which workers it lets in,
and which have returned the work."""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Collection
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler

from humaneval.timed_replies import opener

SIGN = "sign"
"""The fragment of a form's address that asks our marketplace to sign. The marketplace shows it to nobody."""
SIGNATURE = "turkSignature"
"""The parameter in which the signature comes."""

RETURNED_PATH = "/mturk/returned"
ASK_SECONDS = 3.0
"""How long a worker waits for what the marketplace says."""
SILENT_SECONDS = 10.0
"""How long a marketplace that did not answer is not asked again: each question holds somebody up."""
MOST_ASKED = 100

_silent: dict[str, float] = {}
_log = logging.getLogger(__name__)


def with_secret(url: str, secret: str) -> str:
    """The address to publish. Without a secret it stays as it is.

    >>> with_secret("https://forms.example/form/f1", "s")
    'https://forms.example/form/f1#sign=s'
    """
    return f"{url}#{SIGN}={secret}" if secret else url


def is_signed(secret: str, assignment: str, worker: str, hit: str, signature: str) -> bool:
    """Whether the marketplace says that `assignment` of `hit` is this worker's: HMAC-SHA-256, in hex."""
    said = "\n".join((assignment, worker, hit)).encode()
    wanted = hmac.digest(secret.encode(), said, "sha256").hex()
    return bool(secret) and hmac.compare_digest(wanted.encode(), signature.encode("utf-8", "replace"))


def returned_of(marketplace: str, secret: str, hit: str, assignments: Collection[str]) -> frozenset[str]:
    """Those of a HIT's assignments that were returned, as the marketplace at this address says.

    None of them if it does not say: their rows are then kept until their leases run out.
    """
    asked = list(assignments)[:MOST_ASKED]
    if not asked or time.monotonic() < _silent.get(marketplace, 0.0):
        return frozenset()
    said = "\n".join(("returned", hit, *asked)).encode()
    query = [("hitId", hit), *(("assignmentId", each) for each in asked)]
    query.append((SIGNATURE, hmac.digest(secret.encode(), said, "sha256").hex()))
    address = f"{marketplace.rstrip('/')}{RETURNED_PATH}?{urlencode(query)}"
    try:
        with opener(ProxyHandler({})).open(address, timeout=ASK_SECONDS) as reply:
            return frozenset(reply.read().decode().split()) & frozenset(asked)
    except (OSError, HTTPException, ValueError) as error:
        if not isinstance(error, HTTPError):
            _silent[marketplace] = time.monotonic() + SILENT_SECONDS
        _log.warning("the marketplace does not say what was returned of HIT %s: %s", hit, error)
        return frozenset()
