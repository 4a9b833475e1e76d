"""A HIT's question, read from MTurk's XML and checked."""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import SplitResult, urlsplit
from xml.etree import ElementTree

from humaneval.market.protocol.addresses import is_loopback, origin_of, with_query
from humaneval.market.protocol.refusals import invalid
from humaneval.market.protocol.xml import local_name, parse
from humaneval.market.questions.question_form import QuestionForm, is_question_form, read_form
from humaneval.market.tables.database import Mode

MOST_BYTES = 65_535
MOST_KEPT = 64
"""How many questions stay in memory as they were read. So what was checked before a transaction is not read
again in it."""
MOST_FRAME_HEIGHT = 100_000

_SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/"
EXTERNAL_SCHEMA = _SCHEMAS + "2006-07-14/ExternalQuestion.xsd"
HTML_SCHEMA = _SCHEMAS + "2011-11-11/HTMLQuestion.xsd"

_SIGN = "#sign="
_SECRET = re.compile(r"[A-Za-z0-9_-]{16,128}")
_SIGNED = ("assignmentId", "workerId", "hitId")
"""What is signed, in this order: one line each."""

# An origin is copied into a response header, so it must have no spaces, commas, semicolons or quotes.
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")


@dataclass(frozen=True, slots=True)
class ExternalQuestion:
    """A page on the requester's own server."""

    url: str
    """Without the secret, so that no page can show it."""
    frame_height: int
    secret: str = ""
    """The secret with which accepted work is signed, for the requester's server to check."""

    @property
    def origin(self) -> str:
        """Scheme, host and port, which a page that frames the question must allow."""
        return origin_of(self.url)

    def address(self, **parameters: str) -> str:
        """The URL with `parameters` added to its query. Of accepted work they are signed, if so wished."""
        if self.secret and "workerId" in parameters:
            said = "\n".join(parameters[name] for name in _SIGNED).encode()
            parameters["turkSignature"] = hmac.digest(self.secret.encode(), said, "sha256").hex()
        return with_query(self.url, **parameters)


@dataclass(frozen=True, slots=True)
class HtmlQuestion:
    """A page that is part of the HIT."""

    html: str
    frame_height: int


Question = ExternalQuestion | HtmlQuestion | QuestionForm


@lru_cache(MOST_KEPT)
def read_question(xml: str, mode: Mode) -> Question:
    """The question in `xml`. Raises RefusedError with what is wrong with it."""
    root = _root(xml, "Question")
    if is_question_form(root):
        return read_form(root)
    if root.tag == f"{{{EXTERNAL_SCHEMA}}}ExternalQuestion":
        fields = _fields(root, EXTERNAL_SCHEMA, "ExternalURL")
        url, asked, secret = _checked_url(fields["ExternalURL"].strip(), mode).partition(_SIGN)
        if asked and not _SECRET.fullmatch(secret):
            raise invalid("The secret after #sign= must be 16 to 128 letters, digits, - or _.")
        return ExternalQuestion(url, _height(fields["FrameHeight"]), secret)
    if root.tag == f"{{{HTML_SCHEMA}}}HTMLQuestion":
        fields = _fields(root, HTML_SCHEMA, "HTMLContent")
        return HtmlQuestion(fields["HTMLContent"].strip(), _height(fields["FrameHeight"]))
    name = local_name(root.tag)
    schemas = {
        "ExternalQuestion": EXTERNAL_SCHEMA,
        "HTMLQuestion": HTML_SCHEMA,
        "QuestionForm": _SCHEMAS + "2017-11-06/QuestionForm.xsd",
    }
    if name in schemas:
        raise invalid(f"{name} must be in the namespace {schemas[name]}.")
    raise invalid(f"The Question's root is {name}; it must be {' or '.join(schemas)}.")


@lru_cache(MOST_KEPT)
def read_test(xml: str) -> QuestionForm:
    """The form of a qualification test. Raises RefusedError with what is wrong with it."""
    root = _root(xml, "Test")
    if not is_question_form(root):
        raise invalid(
            f"A Test must be a QuestionForm in the namespace {_SCHEMAS}2017-11-06/QuestionForm.xsd."
        )
    form = read_form(root)
    if form.asks_for_files:
        raise invalid("A Test cannot ask for files.")
    return form


def _root(xml: str, name: str) -> ElementTree.Element:
    size = len(xml.encode())
    if size > MOST_BYTES:
        raise invalid(f"The {name} is {size} bytes in UTF-8; it must not be larger than {MOST_BYTES} bytes.")
    return parse(xml)


def _fields(root: ElementTree.Element, schema: str, content: str) -> dict[str, str]:
    """The texts of the two children that the schema requires once each."""
    wanted = (content, "FrameHeight")
    found: dict[str, str] = {}
    for child in root:
        name = child.tag.removeprefix(f"{{{schema}}}")
        if name in wanted and len(child):
            raise invalid(f"{name} must be text, but it contains elements. Put it between <![CDATA[ and ]]>.")
        if name not in wanted or name in found:
            raise invalid(
                f"{name.rpartition('}')[2]} is not allowed here. There must be one"
                f" {' and one '.join(wanted)}."
            )
        found[name] = child.text or ""
    for name in wanted:
        if not found.get(name, "").strip():
            raise invalid(f"The Question has no {name}.")
    return found


def _height(text: str) -> int:
    text = text.strip()
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) > MOST_FRAME_HEIGHT:
        raise invalid(f"FrameHeight must be a whole number from 0 to {MOST_FRAME_HEIGHT}.")
    return int(text)


def _checked_url(url: str, mode: Mode) -> str:
    if re.search(r"[\s\x00-\x20\x7f]", url):
        raise invalid("ExternalURL must not contain spaces.")
    try:
        parts = urlsplit(url)
        host = _netloc_host(parts)
    except ValueError:
        raise invalid(f"ExternalURL {url!r} is not an address.") from None
    if parts.scheme not in ("http", "https") or not host:
        raise invalid("ExternalURL must begin with https:// and name a server.")
    if parts.scheme == "http" and mode is not Mode.LOCAL and not is_loopback(parts.hostname or ""):
        raise invalid("ExternalURL must use https; http is for this machine only.")
    return url


def _netloc_host(parts: SplitResult) -> str:
    """The host of an address; empty if there is anything besides a host and a port."""
    port = parts.port
    host = parts.netloc if port is None else parts.netloc.rpartition(":")[0]
    return host if _HOST.fullmatch(host) else ""
