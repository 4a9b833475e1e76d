"""The content of a QuestionForm: titles, texts, lists, pictures, and XHTML with harmless elements only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from html.entities import name2codepoint
from urllib.parse import urlsplit
from xml.etree import ElementTree

from humaneval.market.protocol.refusals import RefusedError, invalid
from humaneval.market.protocol.xml import Element, local_name, parse

_TAGS = frozenset(
    [
        "a",
        "b",
        "big",
        "blockquote",
        "br",
        "caption",
        "center",
        "cite",
        "code",
        "col",
        "colgroup",
        "dd",
        "del",
        "dfn",
        "dl",
        "dt",
        "em",
        "font",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "i",
        "img",
        "ins",
        "kbd",
        "li",
        "ol",
        "p",
        "pre",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
        "tt",
        "u",
        "ul",
        "var",
    ]
)
_EMPTY = frozenset(("br", "col", "hr", "img"))
_ATTRIBUTES = frozenset(
    [
        "abbr",
        "align",
        "alt",
        "axis",
        "bgcolor",
        "border",
        "cellpadding",
        "cellspacing",
        "cite",
        "clear",
        "color",
        "colspan",
        "compact",
        "datetime",
        "dir",
        "face",
        "frame",
        "headers",
        "height",
        "hspace",
        "lang",
        "noshade",
        "nowrap",
        "rowspan",
        "rules",
        "scope",
        "size",
        "span",
        "start",
        "summary",
        "title",
        "type",
        "valign",
        "value",
        "vspace",
        "width",
    ]
)
"""Attributes of layout and meaning. None of them loads, opens or runs anything."""
_ADDRESSES = {"a": "href", "img": "src"}
_KINDS = ("image", "audio", "video")
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]*);")


@dataclass(frozen=True, slots=True)
class Picture:
    """An image, a sound or a film at another address."""

    kind: str
    address: str
    alt: str
    width: int | None = None
    height: int | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """One piece of content. `kind` is title, text, list, picture or xhtml, and says which field is used."""

    kind: str
    text: str = ""
    items: tuple[str, ...] = ()
    picture: Picture | None = None


def read_blocks(element: Element) -> tuple[Block, ...]:
    """The content of an Overview or a question. Raises RefusedError."""
    return tuple(_block(child) for child in element.children())


def read_picture(element: Element) -> Picture:
    """A Binary or EmbeddedBinary. Raises RefusedError."""
    found = element.fields(
        "MimeType", "EmbeddedMimeType", "DataURL", "AltText", "Width", "Height", "ApplicationParameter"
    )
    mime = found.get("MimeType") or found.get("EmbeddedMimeType")
    if mime is None or "DataURL" not in found:
        raise invalid(f"{element.name} must have a MimeType and a DataURL.")
    kind = mime.fields("Type", "SubType").get("Type")
    if kind is None or kind.text.strip() not in _KINDS:
        raise invalid(
            f"{element.name}: browsers cannot show this MimeType. Its Type must be one of"
            f" {', '.join(_KINDS)}."
        )
    return Picture(
        kind.text.strip(),
        _address(found["DataURL"].text),
        found["AltText"].text if "AltText" in found else "",
        found["Width"].whole(1, 10_000) if "Width" in found else None,
        found["Height"].whole(1, 10_000) if "Height" in found else None,
    )


def read_xhtml(source: str) -> str:
    """FormattedContent as markup for our own page: known elements without script, style or forms.

    Anything else is refused, as in the real service. Raises RefusedError.
    """
    root = parse(f"<div>{_ENTITY.sub(_numbered, source)}</div>", "XHTMLParseError", "FormattedContent")
    return (escape(root.text) if root.text else "") + "".join(_markup(child) for child in root)


def _block(element: Element) -> Block:
    if element.name in ("Title", "Text"):
        return Block(element.name.lower(), element.text)
    if element.name == "List":
        items = list(element.children())
        if any(item.name != "ListItem" for item in items):
            raise invalid("A List must contain only ListItems.")
        return Block("list", items=tuple(item.text for item in items))
    if element.name in ("Binary", "EmbeddedBinary"):
        return Block("picture", picture=read_picture(element))
    if element.name == "FormattedContent":
        return Block("xhtml", read_xhtml(element.text))
    if element.name == "Application":
        raise invalid("Application: browsers no longer run Java applets or Flash.")
    raise invalid(f"{element.name} is not content that a QuestionForm can show.")


def _numbered(entity: re.Match[str]) -> str:
    """A named character of XHTML, &nbsp; for example, by its number, since no DTD defines the names here."""
    name = entity.group(1)
    known = name in name2codepoint and name not in ("amp", "lt", "gt", "quot")
    return f"&#{name2codepoint[name]};" if known else entity.group()


def _markup(element: ElementTree.Element) -> str:
    name = local_name(element.tag)
    if name not in _TAGS or name != element.tag:
        raise _not_allowed(f"the element {name}")
    attributes = "".join(_attribute(name, key, value) for key, value in element.items())
    tail = escape(element.tail) if element.tail else ""
    if name in _EMPTY:
        return f"<{name}{attributes}>{tail}"
    inner = (escape(element.text) if element.text else "") + "".join(_markup(child) for child in element)
    # A link opens in a new tab: in this one, the answers in the form would be lost.
    where = ' target="_blank" rel="noopener noreferrer"' if name == "a" else ""
    return f"<{name}{attributes}{where}>{inner}</{name}>{tail}"


def _attribute(element: str, name: str, value: str) -> str:
    if _ADDRESSES.get(element) == name:
        return f' {name}="{escape(_address(value))}"'
    if name in ("target", "rel") and element == "a":
        return ""
    if name not in _ATTRIBUTES:
        raise _not_allowed(f"the attribute {name} of {element}")
    return f' {name}="{escape(value)}"'


def _address(text: str) -> str:
    text = text.strip()
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in ("http", "https") or not parts.netloc or not text.isprintable():
        raise invalid(f"{text!r} must be an address that begins with https:// or http://.")
    return text


def _not_allowed(what: str) -> RefusedError:
    return RefusedError("XHTMLParseError", f"FormattedContent: {what} is not allowed.")
