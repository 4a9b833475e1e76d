"""Rules for stored text: NFC, one line a sentence, no characters that cannot be shown or stored."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal

from humaneval.text.invisible import hidden_characters, is_ignorable

# White space as people understand it. `str.split` also splits at U+001C to U+001F, U+000B, U+000C and U+0085.
# Those are control characters: they must be refused, not silently dropped.
_SPACES = re.compile(r"[^\S\x0b\x0c\x1c-\x1f\x85]+")

_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

_COMMANDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

# All that can hold a combining mark, and little else. The last two are marks once they are read as NFKC.
_MARKS = re.compile(r"(?:[^\x00-\x7f\w\s]|[ﾞﾟ]){31,}")
_FEW = 500

_NOT_READ = bytes(byte for byte in range(128) if not chr(byte).isalnum())

# The characters that the bytes 0x80–0xBF become if UTF-8 is read as Windows-1252 (or Latin-1).
_TAIL = "\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"
# Those that also close a quotation or a sentence. After a capital, as in «AMANHÃ», they are genuine.
_CLOSING = "’”»›…–—\xa0"
_MISREAD = re.compile(
    "ï»¿|ï¿½"
    "|â€|â[„†ˆ‰œ˜\x80-\x9f]|ðŸ"
    f"|[ÃÂ](?![{_CLOSING}])[{_TAIL}]"
    f"|(?<![^\\W\\d_a-zß-öø-ÿ])[ÃÂ][{_CLOSING}]"
    "|[ÃÂ][’”»›](?=[^\\W\\d_])"
    "|[ÄÅ][¡-ª¬-º¼-¿‚ƒ„†‡ˆ‰Š‹ŒŽ•˜™š›œžŸ]"
    f"|(?:[ÐÑÎÏ×Ø][{_TAIL}]){{2}}"
)
# "hadn????t" and "don?t" have lost a character; "What??" and "watch?v=t" have not.
_LOST = re.compile(r"[^\W\d_]\?{2,}[a-zß-öø-ÿ]|[a-z]\?(?:s|t|re|ll|ve|m|d)(?![\w=])")


def nfc(text: str, form: Literal["NFC", "NFKC"] = "NFC") -> str:
    """`text` in the normal form C, or KC, however many combining marks follow each other in it.

    Python sorts the marks of a letter by their classes, in a time that grows with the square of their number:
    a minute for 80,000. In order, they take as long as other characters.
    """

    def in_order(run: re.Match[str]) -> str:
        apart = "".join(unicodedata.normalize("NFD" if form == "NFC" else "NFKD", each) for each in run[0])
        groups = groupby(apart, key=lambda each: unicodedata.combining(each) == 0)
        return "".join(each for _, group in groups for each in sorted(group, key=unicodedata.combining))

    return unicodedata.normalize(form, _MARKS.sub(in_order, text) if len(text) > _FEW else text)


def normalise(text: str) -> str:
    """`text` as it is stored: NFC, trimmed, each run of white space (also line ends) as one space.

    >>> normalise("  Anne\\r\\n  met\\u00a0Jose\\u0301. ")
    'Anne met José.'
    """
    if text.isascii():
        return " ".join(text.split()) if text.isprintable() else _SPACES.sub(" ", text).strip(" ")
    return _SPACES.sub(" ", nfc(text)).strip(" ")


def refused_characters(text: str) -> str:
    """Names of the characters in `text` that XML, HTML or PostgreSQL cannot carry; empty if there are none.

    These are control characters other than tab and line ends, U+FFFE, U+FFFF and lone surrogates.

    >>> refused_characters("a\\x07b\\x00")
    'U+0007, U+0000'
    """
    if text.isprintable():  # never true for a control character, a surrogate or U+FFFE
        return ""
    return ", ".join(dict.fromkeys(f"U+{ord(found):04X}" for found in _REFUSED.findall(text)))


def without_refused(text: str) -> str:
    """`text` without the characters that `refused_characters` names."""
    return text if text.isprintable() else _REFUSED.sub("", text)


def printable(text: str) -> str:
    """`text` with visible codes for what would command a terminal: control characters, except tab and line
    ends, and marks that turn the direction of writing. JSON strings may contain these codes.

    >>> print(printable("Ann\x1b[2J\x9b\u202e"))
    Ann\\u001b[2J\\u009b\\u202e
    """
    return text if text.isprintable() else _COMMANDING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def unshowable(text: str) -> str:
    """Why no page can show `text` as it is; empty if one can. The same rule for whatever people will read.

    A blank text passes: whether there must be one is another question.


    >>> unshowable("a\u200b"), unshowable("\u0301"), unshowable("…")
    ('contains U+200B, which is invisible', 'has nothing to see', '')
    """
    if refused := refused_characters(text):
        return f"contains {refused}, which cannot be stored or shown"
    if hidden := hidden_characters(text):
        return f"contains {hidden}, which is invisible"
    if text.strip() and not any(
        unicodedata.category(one)[0] in "LNPS" and not is_ignorable(one) for one in text
    ):
        return "has nothing to see"
    return ""


def is_path(name: str) -> bool:
    """Whether a name would lead out of a folder if it named a file, as `../x` does. A name with one slash, as
    models have, does not.

    >>> is_path("../../x"), is_path("/x"), is_path("C:\\\\x"), is_path("ai2/olmo-1b"), is_path("v1..2")
    (True, True, True, False, False)
    """
    return "\\" in name or name[:1] in ("/", "~") or any(part in ("", ".", "..") for part in name.split("/"))


def mojibake(text: str) -> str | None:
    """Why `text` seems damaged by a wrong encoding, or None. Pass the text before `normalise`.

    >>> mojibake("It donâ€™t matter."), mojibake("What??? São Paulo?")
    ("mojibake: 'â€' is UTF-8 read in another encoding", None)
    """
    if "?" in text and (found := _LOST.search(text)):
        return f"mojibake: {found.group()!r} is a character lost in another encoding"
    if text.isascii():
        return None
    if "\ufffd" in text:
        return "mojibake: U+FFFD stands for a character that could not be read"
    if found := _MISREAD.search(text):
        return f"mojibake: {found.group()!r} is UTF-8 read in another encoding"
    return None


def has_words(text: str) -> bool:
    """Whether `text` contains a letter or a digit, of any script.

    >>> has_words("Да!"), has_words(" …”")
    (True, False)
    """
    return any(character.isalnum() and not is_ignorable(character) for character in text)


def as_read(sentences: Iterable[str]) -> str:
    """What a reader takes a text for: its letters and digits, whatever their case, marks, spaces and ids.

    >>> as_read(["“It rained”, she said."]) == as_read(['"IT RAINED,"', "she said!"])
    True
    """
    whole = nfc("".join(sentences), "NFKC").casefold()
    if whole.isascii():
        return whole.encode("ascii").translate(None, _NOT_READ).decode("ascii")
    return "".join(one for one in whole if unicodedata.category(one)[0] in "LMN" and not is_ignorable(one))


def shown_hash(forms: Iterable[Sequence[str]]) -> str:
    """SHA-256 (hex) of all sentences on a form, in order: NFC, UTF-8, joined by line feeds.

    >>> shown_hash([["a", "b"], ["c"]]) == hashlib.sha256(b"a\\nb\\nc").hexdigest()
    True
    """
    shown = "\n".join(nfc(sentence) for form in forms for sentence in form)
    return hashlib.sha256(shown.encode("utf-8")).hexdigest()
