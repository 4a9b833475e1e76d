"""Causal language models of others: opened with their control tokens, and with a tokenizer that does not read
a text as control tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generators.checkpoints.pretrained import find_folder, read_model
from generators.checkpoints.tokenizer import NEWLINE, PIECES, TOKENIZER, added_tokens, open_tokenizer
from generators.checkpoints.weights import CONFIG, DAMAGED, first_line, input_rows, json_object
from humaneval.errors import InputError, UsageError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel

SETTINGS, SPECIAL = PIECES[1:]
SPACES = ("▁", "Ġ")
"""The character for a space in vocabularies."""
MARKER = "☺"
"""A character that merges with no other: put before a text, it takes the space that some tokenizers add
there."""
BYTE = re.compile(r"<0x[0-9A-F]{2}>")
LINE_END = "<0x0A>"


@dataclass(frozen=True, slots=True)
class CausalLM:
    """An opened model. `name` is that of its folder, or its name on the hub."""

    model: PreTrainedModel
    tokenizer: Tokenizer
    name: str
    sha256: str
    ids: Mapping[str, int]
    """The id of every token, control tokens included."""
    added: Collection[int]
    """The ids of added tokens: no text is read as them."""
    begins: tuple[int, ...]
    """What the model's own tokenizer puts before every text: one id or nothing."""
    ends: tuple[int, ...]
    """The end tokens that the model's files name."""
    settings: Mapping[str, Any]
    """The contents of tokenizer_config.json and special_tokens_map.json."""

    def read(self, text: str, *, inside: bool = False) -> list[int]:
        """The ids of a text with line ends \\n; with `inside`, it follows another text, and no space is added
        before it."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if not text:
            return []
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        if inside and self._puts_a_space():
            marked = self.tokenizer.encode(MARKER + text, add_special_tokens=False).ids
            ids = marked[len(self.tokenizer.encode(MARKER, add_special_tokens=False).ids) :]
        return list(ids)

    def write(self, ids: Sequence[int]) -> str:
        """The text of ids."""
        return self.tokenizer.decode(list(ids), skip_special_tokens=False)

    def _puts_a_space(self) -> bool:
        return self.tokenizer.encode("a", add_special_tokens=False).tokens[0].startswith(SPACES)

    def unwritten(self) -> set[int]:
        """The ids that no text is read as: control tokens, and rows without a token.

        A BPE reads a text as single characters or bytes, and as what its merges make of them.
        """
        model = json.loads(self.tokenizer.to_str())["model"]
        vocab = self.tokenizer.get_vocab()
        written = {id for id in vocab.values() if id not in self.added}
        if model["type"] == "BPE" and not model.get("ignore_merges"):
            merged = {"".join(pair) for pair in model["merges"]}
            letters = (token for token in vocab if len(token) == 1 or BYTE.fullmatch(token))
            written &= {vocab[token] for token in (*merged, *letters) if token in vocab}
        return set(range(input_rows(self.model))) - written

    def line_ends(self) -> list[int]:
        """The ids of all tokens that contain a line end."""
        vocab = self.tokenizer.get_vocab()
        # NEWLINE is a line end in byte-level vocabularies; elsewhere it is a letter that English does not
        # have.
        return [id for token, id in vocab.items() if NEWLINE in token or "\n" in token or token == LINE_END]


def open_causal_lm(kind: str, name: str, device: str, example: str) -> CausalLM:
    """The model `name`: a hub id such as `example`, or a folder in the hub's layout.

    Raises UsageError without a name, and InputError if anything is missing or does not fit.
    """
    folder, local = find_model(kind, name, example), Path(name).expanduser().exists()
    found = read_model(folder)
    shown = folder.resolve().name if local else name.split("/")[-1]
    opened = with_tokenizer(found.model, folder, shown, found.sha256)
    opened.model.to(device)
    return opened


def find_model(kind: str, name: str, example: str) -> Path:
    """The folder of the model of that name. Raises UsageError without a name."""
    if not name:
        raise UsageError(
            f"{kind} needs a model",
            f"Name a folder in the hub's layout or a hub id such as {example} with --checkpoint.",
        )
    return find_folder(name, example=example)


def with_tokenizer(model: PreTrainedModel, folder: Path, name: str, sha: str) -> CausalLM:
    """A model with the tokenizer in a folder. Raises InputError if that has more ids than the model has
    rows."""
    tokenizer = open_tokenizer(folder)
    added: dict[str, int] = {token["content"]: token["id"] for token in added_tokens(folder)}
    ids = {**tokenizer.get_vocab(), **added}
    if max(ids.values()) >= input_rows(model):
        raise InputError(
            f"the tokenizer in {folder} has {max(ids.values()) + 1:,} ids, its model {input_rows(model):,}",
            "They belong to different models: copy both from one place.",
        )
    settings = {**json_object(folder / SPECIAL), **json_object(folder / SETTINGS)}
    said = json_object(folder / CONFIG).get("eos_token_id")
    end = ids.get(token_named(settings, "eos_token"))
    ends = [*(said if isinstance(said, list) else [said]), end]
    return CausalLM(
        model,
        tokenizer,
        name,
        sha,
        ids,
        frozenset(added.values()),
        _begins(folder, settings, ids),
        tuple(dict.fromkeys(id for id in ends if isinstance(id, int))),
        settings,
    )


def token_named(settings: Mapping[str, Any], role: str) -> str:
    """The token of a role such as eos_token; empty if the settings do not name it."""
    said = settings.get(role)
    text = said.get("content") if isinstance(said, dict) else said
    return text if isinstance(text, str) else ""


def _begins(folder: Path, settings: Mapping[str, Any], ids: Mapping[str, int]) -> tuple[int, ...]:
    """The beginning that the settings name, else what tokenizer.json itself adds."""
    stated = settings.get("add_bos_token")
    if isinstance(stated, bool):
        begin = ids.get(token_named(settings, "bos_token"))
        return (begin,) if stated and begin is not None else ()
    if not (folder / TOKENIZER).exists():
        return ()
    whole = whole_tokenizer(folder)
    around, alone = whole.encode("a").ids, whole.encode("a", add_special_tokens=False).ids
    return tuple(around[: around.index(alone[0])])


def whole_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer as published, which reads control tokens in a text as such. Raises InputError if it is
    damaged."""
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as error:  # the library raises plain Exceptions
        raise InputError(f"{folder} has no whole {TOKENIZER}: {first_line(error)}", DAMAGED) from None
