"""Tokenizers: opened so that a text is never read as control tokens, and checked to be byte-level BPEs, which
can read and write any text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generators.checkpoints.weights import DAMAGED, first_line, json_object
from humaneval.errors import InputError
from humaneval.limits import DOCUMENT, read_whole

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TOKENIZER = "tokenizer.json"
PAIRS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
"""GPT-2's two files, as named on the hub and by its authors."""
PIECES = ("vocab.txt", "tokenizer_config.json", "special_tokens_map.json")
"""BERT's word pieces, one per line, and the settings of the tokenizer and its special tokens."""
PROBE = "“Don’t!” said Zoë — 12 naïve  apples…\n"
"""A text whose ids are kept in a card: a tokenizer that reads it as other ids is another tokenizer."""
HARD = PROBE + " 👩‍💻 é́ ‘漢字か゚’\t\tx  y   z \n\n \r\n½ ① ﬁ Å İ ſ ­ 🇩🇪🏴󠁧󠁢󠁥󠁮󠁧󠁿"
"""A text that tokenizers that are not byte-level change: split characters, normalised forms, white space."""
RARE = {*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F, 0xC0, 0xC1, 0xF1, 0xF2, *range(0xF5, 0x100)}
"""Bytes that no story has: control characters, planes without characters, and bytes that UTF-8 never uses."""
NEWLINE = "Ċ"
"""The line end in byte-level vocabularies."""


def open_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer in a tokenizer.json, or in a folder that has one or GPT-2's two files.

    Its control tokens are removed: "<|endoftext|>" typed by a person is read as 13 characters. All other ids
    stay.
    """
    from tokenizers import Tokenizer

    file, pair = (path / TOKENIZER, _pair(path)) if path.is_dir() else (path, None)
    try:
        if pair is not None and not file.exists():
            return _from_pair(*pair)
        values = json.loads(read_whole(file, most=DOCUMENT))
        # The added_tokens are matched before the text is read; none of them may match in a story.
        values.update(added_tokens=[], post_processor=None, truncation=None, padding=None)
        return Tokenizer.from_str(json.dumps(values, ensure_ascii=False))
    except FileNotFoundError:
        raise InputError(
            f"there is no tokenizer in {path}",
            f"Copy its {TOKENIZER} there, or its vocab.json and merges.txt.",
        ) from None
    except Exception as error:  # the library raises plain Exceptions
        raise InputError(
            f"{file if pair is None else path} is not a tokenizer: {first_line(error)}", DAMAGED
        ) from None


def added_tokens(folder: Path) -> list[dict[str, Any]]:
    """The added tokens of a folder's tokenizer.json, each with its text and its id."""
    listed = json_object(folder / TOKENIZER).get("added_tokens")
    return [
        token
        for token in (listed if isinstance(listed, list) else [])
        if isinstance(token, dict)
        and isinstance(token.get("content"), str)
        and isinstance(token.get("id"), int)
    ]


def _pair(folder: Path) -> tuple[Path, Path] | None:
    for vocabulary, merges in PAIRS:
        if (folder / vocabulary).exists() and (folder / merges).exists():
            return folder / vocabulary, folder / merges
    return None


def _from_pair(vocabulary: Path, merges: Path) -> Tokenizer:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    lines = read_whole(merges, most=DOCUMENT).split("\n")
    pairs: Any = [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]
    vocab = json.loads(read_whole(vocabulary, most=DOCUMENT))
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def check_byte_level(tokenizer: Tokenizer, whose: str) -> None:
    """Raise InputError if the tokenizer is not a byte-level BPE, or changes or loses any part of a text."""
    why = _fault(tokenizer)
    if why:
        raise InputError(
            f"{whose}'s tokenizer is not byte-level: {why}",
            "Choose a model with a byte-level vocabulary, such as GPT-2.",
        )


def _fault(tokenizer: Tokenizer) -> str:
    model = _model(tokenizer)
    if model["type"] != "BPE":
        return f"it is a {model['type']}, not a BPE"
    if tokenizer.normalizer is not None and tokenizer.normalizer.normalize_str(HARD) != HARD:
        return "it changes a text before it reads it"
    absent = [
        byte for byte, letter in _letters().items() if byte not in RARE and letter not in model["vocab"]
    ]
    if absent:
        return f"{len(absent)} bytes are not in its vocabulary"
    read = tokenizer.encode(HARD, add_special_tokens=False)
    if tokenizer.decode(read.ids, skip_special_tokens=False) != HARD:
        return "a text does not come back unchanged"
    if not covers(read.offsets, len(HARD)):
        return "its tokens do not cover the text"
    return ""


def covers(offsets: list[tuple[int, int]], length: int) -> bool:
    """Whether tokens follow each other without a gap. Tokens may overlap only if they share a character."""
    reached = 0
    for start, end in offsets:
        if not (reached - 1 <= start <= reached and start < end and end >= reached):
            return False
        reached = end
    return reached == length


def unread(tokenizer: Tokenizer, size: int) -> tuple[int, ...]:
    """Ids below `size` that no text is read as: end-of-text and other control tokens, and rows without a
    token.

    A BPE reads a text as single bytes, and as what its merges make of them.
    """
    model = _model(tokenizer)
    written = {*_letters().values(), *("".join(pair) for pair in model["merges"])}
    ids = {id for token, id in model["vocab"].items() if token in written}
    return tuple(id for id in range(size) if id not in ids)


def line_ends(tokenizer: Tokenizer) -> list[int]:
    """The ids of all tokens that contain a line end."""
    return [id for token, id in tokenizer.get_vocab().items() if NEWLINE in token]


def _model(tokenizer: Tokenizer) -> dict[str, Any]:
    model: dict[str, Any] = json.loads(tokenizer.to_str())["model"]
    return model


def _letters() -> dict[int, str]:
    """The character for each byte in a byte-level vocabulary: itself if printable, else one from Ā
    onwards."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(0x100 + n) for n, byte in enumerate(others)}
