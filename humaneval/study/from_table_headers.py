"""Usual headers of the columns in a table of stories and sentences, in small letters and without marks, and
how positions are written."""

from __future__ import annotations

import re
from collections.abc import Mapping

from humaneval.study.from_table_roles import Kind

FIRST = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}
_NUMBERED = re.compile(
    r"(?:input|story|context)?(?:sentences?|sent|satz|phrase|frase|oracion|zin|line|s)0?(\d{1,2})(?:text)?"
    r"|0?(\d{1,2})(?:st|nd|rd|th)?(?:sentence|sent|satz)"
)
_BARE = re.compile(r"[0-9]{1,2}")
_PLACE = re.compile(r"(?:[^\W\d_]*[\s_#.-]*)?(\d{1,2})(?:[.,]0+|st|nd|rd|th|\.|\s*(?:/|of)\s*\d{1,2})?")
_ORDINAL = re.compile(rf"({'|'.join(FIRST)})(?:sentence|satz)?")


def _joined(firsts: str, seconds: str) -> str:
    """Every first word alone and before every second one; the longer ones come first."""
    return " ".join([*(one + two for one in firsts.split() for two in seconds.split()), *firsts.split()])


_TAKEN_OUT = """
    blank gap missing removed omitted deleted masked mask hole infill fill target cloze sentence slot
"""
_NUMBERS = "position pos index idx number num no nr id sentenceposition sentenceindex sentencenumber sentence"
_ORIGINALS = """
    original gold golden reference ref groundtruth truth true target human real correct removed missing masked
"""
NAMES: Mapping[Kind, tuple[str, ...]] = {
    kind: tuple(names.split())
    for kind, names in {
        Kind.ID: """
            storyid inputstoryid id uid uuid itemid item docid exampleid instanceid key""",
        Kind.TITLE: """
            title storytitle titel titre titulo""",
        Kind.POSITION: f"""
            position pos {_joined(_TAKEN_OUT, _NUMBERS)} takenout whichsentence stelle lücke satznummer sent
            index idx""",
        Kind.ORIGINAL: f"""
            {_joined(_ORIGINALS, "sentence text infill ending line")} answer label person author written
            source""",
        Kind.SAMPLE: """
            sample sampleno samplenumber draw""",
        Kind.BEFORE: """
            before left prefix preceding beginning start contextbefore beforeblank beforegap textbefore
            leftcontext precontext precedingcontext contextleft storybegin storystart storybefore context1""",
        Kind.AFTER: """
            after right suffix following continuation end contextafter afterblank aftergap textafter
            rightcontext postcontext followingcontext contextright storyend storyrest storyafter context2""",
        Kind.STORY: """
            story storytext fullstory storywithblank storywithgap maskedstory incomplete text maskedtext
            inputtext fulltext context passage paragraph sentences input template document prompt
            geschichte""",
        Kind.GENERATOR: """
            generator system model method systemname modelname generatorname systemid modelid""",
        Kind.TEXT: """
            text output infill generation generated prediction completion response hypothesis candidate
            systemoutput modeloutput generatedtext generatedsentence infilledsentence modelsentence
            systemsentence filled fill sentence answer""",
    }.items()
}
"""Those of each kind, the surest first."""
_ENDINGS = "ending storyending goldending rightending correctending trueending lastsentence"
ENDINGS = frozenset(_ENDINGS.split())
"""The fifth sentence, if the others are numbered 1 to 4."""
_ROW_NUMBERS = "index idx row rownumber nr no number unnamed0 line"
ROW_NUMBERS = frozenset(_ROW_NUMBERS.split())
_NOT_SENTENCES = """
    comment comments note notes remark remarks prompt instruction instructions url link date time annotator
    feedback topic genre keywords label split source license author category type domain dataset
"""
NOT_SENTENCES = frozenset(_NOT_SENTENCES.split())
"""Columns that may hold sentences, and none of a system."""


def plain(name: str) -> str:
    """A header in small letters and without marks.

    >>> plain("Input_Sentence 1")
    'inputsentence1'
    """
    return re.sub(r"[\W_]", "", name.casefold())


def sentence_number(name: str, *, bare: bool = False) -> int | None:
    """The number of a sentence in a plain header; None for other headers. With `bare`, it may stand alone.

    >>> sentence_number("inputsentence3"), sentence_number("s2"), sentence_number("fifthsentence")
    (3, 2, 5)
    """
    if bare and _BARE.fullmatch(name):
        return int(name)
    if found := _NUMBERED.fullmatch(name):
        return int(found[1] or found[2])
    found = _ORDINAL.fullmatch(name)
    return FIRST[found[1]] if found else None


def place_in(cell: str) -> int | None:
    """The number of a sentence in a cell, as it is written; None for other cells.

    >>> place_in("3"), place_in("sentence3"), place_in("2,0"), place_in("Third"), place_in("x")
    (3, 3, 2, 3, None)
    """
    text = cell.strip().casefold()
    if text in FIRST:
        return FIRST[text]
    found = _PLACE.fullmatch(text)
    return int(found[1]) if found else None
