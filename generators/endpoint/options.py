"""The options of models behind a server: its address, what to request, how fast, and for how much money."""

from __future__ import annotations

import os
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from urllib3.exceptions import LocationParseError
from urllib3.util import Url, parse_url

from generators.options import refuse_unless
from humaneval.errors import UsageError

URL_VARIABLE = "HUMANEVAL_ENDPOINT_URL"
KEY_VARIABLE = "OPENAI_API_KEY"
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class Prices(NamedTuple):
    """What a token costs that is read, and one that is written."""

    read: Decimal
    written: Decimal


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """The values of `--option`. Money is in any one currency; prices are per million tokens."""

    url: str = ""
    """If empty, that of HUMANEVAL_ENDPOINT_URL."""
    model: str = ""
    temperature: float = 1.0
    max_tokens: int = 256
    limit_field: str = "max_tokens"
    """The server's name for the limit; for some it is max_completion_tokens."""
    send_seed: bool = True
    """Off for servers that refuse the field `seed`."""
    layout: str = "suffix"
    """How `completions` shows a blank: `suffix`, or `ilm`, the control tokens of our ILM checkpoints."""
    key_variable: str = ""
    """The environment variable with the key; if empty, OPENAI_API_KEY."""
    per_minute: int = 0
    """The most requests per minute; 0 for no limit."""
    parallel: int = 4
    timeout: float = 60.0
    """Seconds to wait for an answer."""
    retries: int = 5
    cache: str = ".humaneval-cache"
    offline: bool = False
    price_in: str = ""
    price_out: str = ""
    ceiling: str = ""

    def __post_init__(self) -> None:
        refuse_unless(0 <= self.temperature <= 2, "temperature", "0 to 2")
        refuse_unless(1 <= self.max_tokens <= 100_000, "max_tokens", "1 to 100000")
        refuse_unless(self.limit_field.isidentifier(), "limit_field", "a field's name")
        refuse_unless(self.layout in ("suffix", "ilm"), "layout", "suffix or ilm")
        name = not self.key_variable or self.key_variable.isidentifier()
        refuse_unless(name, "key_variable", "the name of an environment variable, never the key itself")
        refuse_unless(0 <= self.per_minute <= 100_000, "per_minute", "0 (no limit) to 100000")
        refuse_unless(1 <= self.parallel <= 256, "parallel", "1 to 256")
        refuse_unless(0 < self.timeout <= 3600, "timeout", "seconds, above 0 to 3600")
        refuse_unless(0 <= self.retries <= 20, "retries", "0 to 20")
        refuse_unless(bool(self.cache), "cache", "a folder")
        for option in ("price_in", "price_out", "ceiling"):
            refuse_unless(_amount(getattr(self, option)) >= 0, option, "an amount of money such as 2.50")
        if self.ceiling and not (self.price_in and self.price_out):
            raise UsageError(
                "a ceiling needs the prices",
                "Give --option price_in=… and price_out=…, per million tokens.",
            )
        if not self.model:
            raise UsageError("no model is named", "Name it as the server does: --option model=NAME.")

    @property
    def prices(self) -> Prices:
        """The prices of single tokens."""
        return Prices(_amount(self.price_in) / 1_000_000, _amount(self.price_out) / 1_000_000)

    @property
    def most(self) -> Decimal | None:
        """The most that may be spent, if it is limited."""
        return _amount(self.ceiling) if self.ceiling else None

    def address(self) -> Url:
        """The address of the server. Raises UsageError if it is not an address, or if it contains a
        password."""
        text = (self.url or os.environ.get(URL_VARIABLE, "")).strip().rstrip("/")
        if not text:
            raise UsageError(
                "the address of the server is missing",
                f"Give --option url=http://localhost:8000/v1, or set {URL_VARIABLE}.",
            )
        try:
            url = parse_url(text)
        except LocationParseError:
            url = Url()
        if url.auth or url.query or url.fragment:
            raise UsageError(
                "the server's url contains a name, a password or a query",
                "Give the address alone; a key is read from the environment:"
                f" {self.key_variable or KEY_VARIABLE}.",
            )
        if url.scheme not in ("http", "https") or not url.host:
            raise UsageError(
                "the server's url is not a web address", "Give one such as http://localhost:8000/v1."
            )
        return url

    def key(self) -> str:
        """The key, if there is one. The default one is not sent unencrypted unless its variable is named."""
        url = self.address()
        safe = url.scheme == "https" or url.host in LOOPBACK
        variable = self.key_variable or (KEY_VARIABLE if safe else "")
        key = os.environ.get(variable, "").strip() if variable else ""
        if self.key_variable and not key and not self.offline:
            raise UsageError(f"{variable} is not set in the environment", f"export {variable}=…")
        if not key.isascii() or not key.isprintable():
            raise UsageError(f"{variable} is not a key: it has characters that no key has", "Copy it again.")
        return key


def _amount(text: str) -> Decimal:
    """The amount of money in an option; -1 if it is not an amount."""
    try:
        amount = Decimal(text or "0")
    except InvalidOperation:
        return Decimal(-1)
    return amount if amount.is_finite() else Decimal(-1)
