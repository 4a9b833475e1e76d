"""Requesters' XML: parsed safely, and read by names without their namespace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.parsers import expat

from humaneval.market.protocol.refusals import RefusedError, invalid

DEEPEST = 100
"""The deepest nesting of elements: the functions that turn them into pages are recursive."""


def parse(xml: str, code: str = "XMLParseError", what: str = "question") -> ElementTree.Element:
    """The document's root. Raises RefusedError.

    A DTD is refused before anything in it can be expanded. So are elements nested more than 100 deep.
    """
    depth = 0

    def unreadable(why: str) -> RefusedError:
        return RefusedError(code, f"There was an error parsing the XML {what} data: {why}.")

    def refuse_doctype(*_: object) -> None:
        raise unreadable("a document type declaration is not allowed")

    def enter(*_: object) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise unreadable(f"elements are nested more than {DEEPEST} deep")

    def leave(_: object) -> None:
        nonlocal depth
        depth -= 1

    guard = expat.ParserCreate()
    guard.StartDoctypeDeclHandler = refuse_doctype
    guard.StartElementHandler, guard.EndElementHandler = enter, leave
    try:
        guard.Parse(xml, True)
        return ElementTree.fromstring(xml)
    except (expat.ExpatError, ElementTree.ParseError) as error:
        raise unreadable(f"it is not well-formed ({error})") from None


def local_name(tag: str) -> str:
    """An element's name without its namespace.

    >>> local_name("{urn:x}Question")
    'Question'
    """
    return tag.rpartition("}")[2]


@dataclass(frozen=True, slots=True)
class Element:
    """An element whose children are read by name. All elements of a document share its root's namespace."""

    element: ElementTree.Element

    @property
    def name(self) -> str:
        """Its name without the namespace."""
        return local_name(self.element.tag)

    @property
    def text(self) -> str:
        """Its text; "" if it has none. Raises RefusedError if it contains elements: their text would be
        lost."""
        if len(self.element):
            raise invalid(f"{self.name} must contain text only. Put markup into a CDATA section.")
        return self.element.text or ""

    def children(self) -> Iterator[Element]:
        """Its children in order. Raises RefusedError if one has another namespace."""
        namespace = self.element.tag.rpartition("}")[0]
        for child in self.element:
            if child.tag.rpartition("}")[0] != namespace:
                raise invalid(f"{local_name(child.tag)} must be in the namespace {namespace.lstrip('{')}.")
            yield Element(child)

    def fields(self, *names: str) -> dict[str, Element]:
        """Its children by name: only `names`, and each at most once. Raises RefusedError."""
        found: dict[str, Element] = {}
        for child in self.children():
            if child.name not in names or child.name in found:
                raise invalid(f"{child.name} is not allowed in {self.name}, or not more than once.")
            found[child.name] = child
        return found

    def only_child(self, *names: str) -> Element:
        """Its one child, which must be one of `names`. Raises RefusedError."""
        children = list(self.children())
        if len(children) != 1 or children[0].name not in names:
            raise invalid(f"{self.name} must contain exactly one of {', '.join(names)}.")
        return children[0]

    def attribute(self, name: str) -> str:
        """The attribute's value; "" if it is left out."""
        return self.element.get(name, "")

    def number(self, name: str, least: int | None = None) -> int | None:
        """The whole number in an attribute, `least` or more; None if it is left out. Raises RefusedError."""
        text = self.attribute(name).strip()
        if not text:
            return None
        if not re.fullmatch(r"-?[0-9]{1,12}", text) or (least is not None and int(text) < least):
            above = "" if least is None else f" of at least {least}"
            raise invalid(f"{name} of {self.name} must be a whole number{above}.")
        return int(text)

    def whole(self, least: int, most: int) -> int:
        """Its text as a whole number from `least` to `most`. Raises RefusedError."""
        text = self.text.strip()
        if not re.fullmatch(r"-?[0-9]{1,12}", text) or not least <= int(text) <= most:
            raise invalid(f"{self.name} must be a whole number from {least} to {most}.")
        return int(text)

    def truth(self) -> bool:
        """Its text as true or false. Raises RefusedError."""
        text = self.text.strip().lower()
        if text not in ("true", "false", "1", "0"):
            raise invalid(f"{self.name} must be true or false.")
        return text in ("true", "1")
