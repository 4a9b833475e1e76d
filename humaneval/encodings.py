"""From bytes to text: the encoding of a file, or a clear error if it cannot be determined."""

from __future__ import annotations

import codecs
import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from humaneval.errors import InputError, UsageError

_BOMS = (  # the longer ones first: a UTF-32 mark begins like a UTF-16 one
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNPACK = "Unpack it first"
_SAVE = "Save its text or table as CSV or JSON lines."
NOT_TEXT = (
    (
        b"PK\x03\x04",
        "an Excel workbook or a zip archive",
        "In Excel: Save as, CSV UTF-8. If it is an archive, unpack it.",
    ),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word file", "In Excel: Save as, CSV UTF-8."),
    (b"\x1f\x8b", "a gzip archive", f"{_UNPACK}: gunzip FILE."),
    (b"BZh", "a bzip2 archive", f"{_UNPACK}: bunzip2 FILE."),
    (b"\xfd7zXZ", "an xz archive", f"{_UNPACK}: xz -d FILE."),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive", f"{_UNPACK}: zstd -d FILE."),
    (b"7z\xbc\xaf", "a 7-Zip archive", f"{_UNPACK}."),
    (b"Rar!\x1a\x07", "a RAR archive", f"{_UNPACK}."),
    (b"%PDF", "a PDF", _SAVE),
    (b"{\\rtf", "a Rich Text document", _SAVE),
    (b"PAR1", "a Parquet file", "Write it as CSV or JSON lines first."),
    (b"SQLite format 3\x00", "an SQLite database", "Write the table that you need as CSV first."),
    (b"\x89PNG", "a picture", _SAVE),
    (b"\xff\xd8\xff", "a picture", _SAVE),
    (b"GIF8", "a picture", _SAVE),
)
"""How files begin that are no text, what they are, and what to do. Every door that reads text asks here."""
_CONTROL_BYTES = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
DEEPEST = 50
"""Levels of lists and tables in each other in a TOML text. Settings have five."""
MOST_CONTROL = 0.03
"""Share of control bytes above which a file is no text in any encoding."""
_UNDEFINED_BYTES = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_UTF8_SEQUENCES = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_HIGH_BYTES = re.compile(rb"[\x80-\xff]")
# An apostrophe in Mac Roman; in Windows-1252 it would be a capital Õ inside a word of small letters.
_MAC_APOSTROPHE = re.compile(rb"[a-z]\xd5[a-z]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text without a byte order mark, and its encoding. `guessed`: nothing in the file names it."""

    text: str
    encoding: str
    guessed: bool = False

    @property
    def note(self) -> str:
        """What there is to say about a guess; empty if the file names its encoding."""
        return f"the file is not UTF-8 and was read as {self.encoding}" if self.guessed else ""


def decode(data: bytes, name: str, encoding: str | None = None, *, what: str) -> Decoded:
    """The text of `data`. `name` is the file's, and `what` it should be ("a story file"), for messages.

    `encoding` (from `--encoding`) is used as given. Without it, these are tried: a byte order mark, UTF-16
    that is clearly recognisable, strict UTF-8, and Windows-1252 unless the bytes contradict it.
    """
    for magic, found, hint in NOT_TEXT:
        if data.startswith(magic):
            raise InputError(f"{name} is {found}, not {what}", hint)
    if encoding is not None:
        return _decode_as_told(data, name, encoding)
    for mark, codec in _BOMS:
        if data.startswith(mark):
            return Decoded(_strict(data[len(mark) :], name, codec, offset=len(mark)), codec)
    if codec := _unmarked_utf16(data):
        return Decoded(_strict(data, name, codec), codec)
    try:
        return Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError as error:
        if len(_CONTROL_BYTES.findall(data[:4096])) > MOST_CONTROL * len(data[:4096]):
            raise InputError(
                f"{name} is a binary file, not {what}", "Save it as CSV, JSONL or plain text."
            ) from None
        return _decode_legacy(data, name, error.start)


def _decode_as_told(data: bytes, name: str, encoding: str) -> Decoded:
    try:
        codec = codecs.lookup(encoding)
        "".encode(codec.name)
    except (LookupError, ValueError):
        raise UsageError(
            f"{encoding!r} is not an encoding", "Try utf-8, utf-16, cp1252, latin-1 or mac_roman."
        ) from None
    return Decoded(_strict(data, name, codec.name).removeprefix("\ufeff"), codec.name)


def _strict(data: bytes, name: str, codec: str, offset: int = 0) -> str:
    try:
        return data.decode(codec)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name}, line {_line(data, error.start, codec)}: byte {_hex(data, error.start)} "
            f"(byte {error.start + offset + 1:,} of the file) is not valid {codec}",
            "Correct that line, or give the file's encoding with --encoding.",
        ) from None


def _unmarked_utf16(data: bytes) -> str:
    """The byte order of UTF-16 without a mark: in mostly Latin text every second byte is zero."""
    head = data[:4096]
    if len(head) < 8 or 0 not in head:
        return ""
    half = len(head) // 2
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > 0.6 * half and even < 0.1 * half:
        return "utf-16-le"
    if even > 0.6 * half and odd < 0.1 * half:
        return "utf-16-be"
    return ""


def _decode_legacy(data: bytes, name: str, first_bad: int) -> Decoded:
    """Windows-1252 if the bytes allow it. Any other guess would silently damage text."""
    if (found := _CONTROL_BYTES.search(data)) or (found := _UNDEFINED_BYTES.search(data)):
        raise InputError(
            f"{name}, line {_line(data, found.start())}: byte {_hex(data, found.start())} is"
            " neither UTF-8 nor Windows-1252; the file looks like legacy 8-bit text",
            "Give the file's encoding, for example --encoding mac_roman or --encoding cp437.",
        )
    sound = _UTF8_SEQUENCES.findall(data)
    if 2 * len(sound) > len(_HIGH_BYTES.findall(data)) - sum(map(len, sound)):
        raise InputError(
            f"{name}, line {_line(data, first_bad)}: byte {_hex(data, first_bad)} is not UTF-8, although the"
            " rest of the file mostly is",
            "Correct that line, or give the file's encoding with --encoding.",
        )
    if found := _MAC_APOSTROPHE.search(data):
        raise InputError(
            f"{name}, line {_line(data, found.start())}: byte 0xD5 inside a word, as in Mac Roman",
            "Use --encoding mac_roman, or save the file as UTF-8.",
        )
    return Decoded(data.decode("cp1252"), "cp1252", guessed=True)


def _line(data: bytes, at: int, codec: str = "") -> int:
    """The 1-based line of the byte at `at`, with any kind of line end."""
    before = data[:at]
    if codec.startswith(("utf-16", "utf-32", "utf_16", "utf_32")):
        before = before.decode(codec, "ignore").encode("utf-8", "ignore")
    return 1 + len(re.findall(rb"\r\n|\r|\n", before))


def _hex(data: bytes, at: int) -> str:
    return f"0x{data[at]:02X}"


def read_json(text: str, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """The value of a JSON text, in which `pairs` makes the objects. Raises ValueError or RecursionError.

    JSON may name half of a character, which no file and no database can keep.
    """
    value = json.loads(text, object_pairs_hook=pairs)
    if "\\ud" in text or "\\uD" in text:
        json.dumps(value, ensure_ascii=False).encode()
    return value


def read_toml(text: str) -> dict[str, Any]:
    """The values of a TOML text. Raises TOMLDecodeError for whatever cannot be read."""
    if any(_is_deep(part) for line in text.splitlines() for part in line.split("=")):
        raise tomllib.TOMLDecodeError(why_not_json(RecursionError()))
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except (ValueError, RecursionError) as error:
        raise tomllib.TOMLDecodeError(why_not_json(error)) from None
    inside: list[Any] = [values]
    for _ in range(DEEPEST):
        within = [one.values() if isinstance(one, dict) else one for one in inside]
        inside = [one for several in within for one in several if isinstance(one, dict | list)]
    if inside:  # what reads it is called once for each level, and comes to an end some hundreds deep
        raise tomllib.TOMLDecodeError(why_not_json(RecursionError()))
    return values


def _is_deep(name: str) -> bool:
    """Whether this may be the name of a setting with too many parts: reading it would take gigabytes."""
    parts = name.split(".")
    return len(parts) > DEEPEST and all(part.strip() for part in parts)


def why_not_json(error: ValueError | RecursionError) -> str:
    """Why a text is not JSON that can be read, from what reading it raised."""
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    if isinstance(error, UnicodeEncodeError):
        return f"half of a character, U+{ord(error.object[error.start]):04X}"
    return "nested too deeply" if isinstance(error, RecursionError) else "a number is too long"
