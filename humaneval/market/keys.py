"""Access keys: whose requests may spend the account's money. This verifies AWS's Signature Version 4.

A client signs its request with a secret that both sides know and that is never sent. The steps are those
that AWS documents for Signature Version 4. Only the parts that this protocol needs are here: signatures in
the Authorization header, for one service in one region.
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
from humaneval.limits import read_whole
from humaneval.text import command

ALGORITHM = "AWS4-HMAC-SHA256"
REGION = "us-east-1"
SERVICE = "mturk-requester"
TOLERANCE = timedelta(minutes=15)
"""How far a client's clock may differ from ours."""

SHORTEST_SECRET = 16
"""Characters. With one signed request, an attacker can try any number of secrets offline."""

_AUTHORIZATION = re.compile(
    ALGORITHM + r" Credential=(?P<id>[^/,\s]+)/(?P<day>[0-9]{8})/(?P<region>[^/,\s]+)/(?P<service>[^/,\s]+)"
    r"/aws4_request,"
    r" ?SignedHeaders=(?P<headers>[a-z0-9;_-]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)
_ID = re.compile(r"[A-Za-z0-9_-]{3,128}")
_LETTERS = string.ascii_letters + string.digits


class NotSignedError(Exception):
    """A request without a valid signature. `kind` is AWS's name for the error, `status` its HTTP status."""

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
    """The pairs of key id and secret that requests may be signed with. There is at least one."""

    def __init__(self, pairs: Mapping[str, str]) -> None:
        """Raises SettingsError. Its message never contains a secret."""
        if not pairs:
            raise SettingsError(
                "there is no access key", f"Make one with `{command('market', 'key', '--out', 'FILE')}`."
            )
        for key_id, secret in pairs.items():
            if not _ID.fullmatch(key_id):
                raise SettingsError(
                    "an access key id is not valid",
                    "An id has 3 to 128 letters, digits, - or _.",
                )
            if len(secret) < SHORTEST_SECRET:
                raise SettingsError(
                    f"the secret of access key {key_id} is shorter than {SHORTEST_SECRET} characters",
                    f"Make a new pair with `{command('market', 'key', '--out', 'FILE')}`.",
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
                "This marketplace does not know the access key. AWS_ACCESS_KEY_ID takes precedence over a"
                " credentials file.",
            )
        moment = request.headers.get("X-Amz-Date", "")
        if (claim.day, claim.region, claim.service) != (moment[:8], REGION, SERVICE):
            _refuse(f"The credential's scope must be the request's own day, {REGION} and {SERVICE}.")
        _check_moment(moment, now)
        sent = {name.lower() for name, _ in request.headers if name.lower().startswith("x-amz-")}
        if unsigned := {"host", *sent} - set(claim.headers.split(";")):
            _refuse(f"These headers are not signed: {', '.join(sorted(unsigned))}.")
        if not hmac.compare_digest(_signature(request, claim, moment, secret), claim.signature):
            _refuse("The signature does not match this key. Check the secret and the Host header.")


def read_pairs(text: str) -> Keys:
    """Keys from `ID:SECRET` pairs separated by spaces, as an environment variable holds them."""
    parted = [pair.partition(":") for pair in text.split()]
    if not all(colon for _, colon, _ in parted):
        raise SettingsError(
            "access keys cannot be read", "Write each pair as ID:SECRET, with a space between pairs."
        )
    return Keys({key_id: secret for key_id, _, secret in parted})


def read_file(file: Path) -> Keys:
    """Keys from a file in the format of AWS's credentials file: the pair of every profile."""
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(read_whole(file, "utf-8-sig"))
        pairs = {
            parser[profile]["aws_access_key_id"]: parser[profile]["aws_secret_access_key"]
            for profile in parser.sections()
        }
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}") from None
    except (configparser.Error, KeyError, UnicodeDecodeError):
        # Without the parser's message: it may quote a line that holds a secret.
        raise SettingsError(
            f"{file} is not a file of access keys",
            "Give each profile its own name, and the lines aws_access_key_id and aws_secret_access_key.",
        ) from None
    return Keys(pairs)


def write_new_pair(file: Path) -> str:
    """Make a key pair in a new file that only its owner may read. Returns the pair's id."""
    key_id = "HE" + "".join(secrets.choice(string.ascii_uppercase + string.digits) for _ in range(18))
    secret = "".join(secrets.choice(_LETTERS) for _ in range(40))
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise UsageError(
            f"{file} cannot be made: {error.strerror}", "Name a file that does not exist."
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
            f"Signature expired: it is from {text}, and the time here is {now:%Y%m%dT%H%M%SZ}. They may"
            " differ by 15 minutes at most."
        )


def _signature(request: Request, claim: _Claim, moment: str, secret: str) -> str:
    """The signature of this request with the secret."""
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
