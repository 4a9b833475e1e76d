"""Access keys: whose requests may spend the account's money. AWS's Signature Version 4, verified.

A client signs what it sends with a secret that both sides know and that never travels. The steps are those
that AWS documents for Signature Version 4; only what this protocol needs is taken: signatures in the
Authorization header, for this one service in its one region.
"""

from __future__ import annotations

import configparser
import hashlib
import hmac
import os
import re
import secrets
import string
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple, NoReturn

from werkzeug.wrappers import Request

from humaneval.errors import SettingsError, UsageError

ALGORITHM = "AWS4-HMAC-SHA256"
REGION = "us-east-1"
SERVICE = "mturk-requester"
TOLERANCE = timedelta(minutes=15)
"""How far a client's clock may be off."""

SHORTEST_SECRET = 16
"""Characters. Whoever sees one signed request can try secrets on it at leisure."""

_AUTHORIZATION = re.compile(
    ALGORITHM
    + r" Credential=(?P<id>[^/,\s]+)/(?P<day>[0-9]{8})/(?P<region>[^/,\s]+)/(?P<service>[^/,\s]+)/aws4_request,"
    r" ?SignedHeaders=(?P<headers>[a-z0-9;_-]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)
_ID = re.compile(r"[A-Za-z0-9_-]{3,128}")
_LETTERS = string.ascii_letters + string.digits


class NotSignedError(Exception):
    """A request that nobody with a key has signed. `kind` is AWS's name for what is wrong, `status` its
    status."""

    def __init__(self, kind: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status = status


class _Claim(NamedTuple):
    """What a request's Authorization header says."""

    id: str
    day: str
    region: str
    service: str
    headers: str
    signature: str


class Keys:
    """The pairs of key id and secret that requests may be signed with; there is at least one."""

    def __init__(self, pairs: Mapping[str, str]) -> None:
        """Raises SettingsError; its message has no secret in it."""
        if not pairs:
            raise SettingsError("there is no access key", "`humaneval market key FILE` makes one.")
        for key_id, secret in pairs.items():
            if not _ID.fullmatch(key_id):
                raise SettingsError(
                    "an access key id is 3 to 128 letters, digits, - or _, and one of these is not"
                )
            if len(secret) < SHORTEST_SECRET:
                raise SettingsError(
                    f"the secret of access key {key_id} is shorter than {SHORTEST_SECRET} characters"
                )
        self._pairs = dict(pairs)

    def check(self, request: Request, now: datetime) -> None:
        """Raises NotSignedError unless `request` was signed with one of the pairs, within 15 minutes of
        `now`."""
        claim = _claim(request.headers.get("Authorization", ""))
        secret = self._pairs.get(claim.id)
        if secret is None:
            raise NotSignedError(
                "UnrecognizedClientException",
                "This marketplace does not know the access key. AWS_ACCESS_KEY_ID counts before a credentials"
                " file.",
            )
        moment = request.headers.get("X-Amz-Date", "")
        if (claim.day, claim.region, claim.service) != (moment[:8], REGION, SERVICE):
            _refuse(f"The credential's scope must be the request's own day, {REGION} and {SERVICE}.")
        _check_moment(moment, now)
        sent = {name.lower() for name, _ in request.headers if name.lower().startswith("x-amz-")}
        if unsigned := {"host", *sent} - set(claim.headers.split(";")):
            _refuse(f"Not signed: {', '.join(sorted(unsigned))}.")
        if not hmac.compare_digest(_signature(request, claim, moment, secret), claim.signature):
            _refuse(
                "The signature is not the one that this key gives: check the secret, and the Host header."
            )


def read_pairs(text: str) -> Keys:
    """Keys from `ID:SECRET` pairs with spaces between them, as an environment variable holds them."""
    parted = [pair.partition(":") for pair in text.split()]
    if not all(colon for _, colon, _ in parted):
        raise SettingsError("access keys are written ID:SECRET, with a space between pairs")
    return Keys({key_id: secret for key_id, _, secret in parted})


def read_file(file: Path) -> Keys:
    """Keys from a file in the form of AWS's own credentials file: every profile's pair."""
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(file.read_text(encoding="utf-8-sig"))
        pairs = {
            parser[profile]["aws_access_key_id"]: parser[profile]["aws_secret_access_key"]
            for profile in parser.sections()
        }
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}") from None
    except (configparser.Error, KeyError, UnicodeDecodeError):
        # Not the error's own words: they may quote the line, and the line may hold a secret.
        raise SettingsError(
            f"{file} is not a file of access keys",
            "Each profile has a name of its own, and the lines aws_access_key_id and aws_secret_access_key.",
        ) from None
    return Keys(pairs)


def write_new_pair(file: Path) -> str:
    """Make a key pair in a new file that only its owner may read; gives the pair's id."""
    key_id = "HE" + "".join(secrets.choice(string.ascii_uppercase + string.digits) for _ in range(18))
    secret = "".join(secrets.choice(_LETTERS) for _ in range(40))
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise UsageError(
            f"{file} cannot be made: {error.strerror}", "Name a file that is not there."
        ) from None
    with open(descriptor, "w", encoding="utf-8") as out:
        out.write(f"[default]\naws_access_key_id = {key_id}\naws_secret_access_key = {secret}\n")
    return key_id


def _claim(header: str) -> _Claim:
    if not header:
        raise NotSignedError("MissingAuthenticationTokenException", "The request is not signed.", 403)
    found = _AUTHORIZATION.fullmatch(header)
    if found is None:
        raise NotSignedError(
            "IncompleteSignatureException", f"Authorization must be an {ALGORITHM} signature."
        )
    return _Claim(**found.groupdict())


def _check_moment(text: str, now: datetime) -> None:
    try:
        moment = datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        _refuse("X-Amz-Date must be given as YYYYMMDDTHHMMSSZ.")
    if abs(moment - now) > TOLERANCE:
        _refuse(
            f"Signature expired: it is from {text}, and here it is {now:%Y%m%dT%H%M%SZ} (15 minutes at most)."
        )


def _signature(request: Request, claim: _Claim, moment: str, secret: str) -> str:
    """The signature that whoever has the secret would have given this request."""
    query = request.query_string.decode("latin-1").split("&")
    lines = [f"{name}:{' '.join(request.headers.get(name, '').split())}" for name in claim.headers.split(";")]
    canonical = [
        request.method,
        request.path,
        "&".join(sorted(part if "=" in part else f"{part}=" for part in query if part)),
        *lines,
        "",
        claim.headers,
        hashlib.sha256(request.get_data()).hexdigest(),
    ]
    scope = (claim.day, claim.region, claim.service, "aws4_request")
    digest = hashlib.sha256("\n".join(canonical).encode("latin-1")).hexdigest()
    to_sign = "\n".join((ALGORITHM, moment, "/".join(scope), digest))
    key = f"AWS4{secret}".encode()
    for part in (*scope, to_sign):
        key = hmac.digest(key, part.encode(), "sha256")
    return key.hex()


def _refuse(message: str) -> NoReturn:
    raise NotSignedError("InvalidSignatureException", message)
