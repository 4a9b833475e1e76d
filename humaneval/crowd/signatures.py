"""Whether the marketplace has signed an address: it hides a secret of the HIT, and signs whom it lets in."""

from __future__ import annotations

import hmac
import secrets

SIGN = "sign"
"""The fragment of a form's address with which our marketplace is asked to sign. It shows it to nobody."""
SIGNATURE = "turkSignature"
"""The parameter in which the signature comes."""


def new_secret() -> str:
    """A secret for one HIT."""
    return secrets.token_urlsafe(24)


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
