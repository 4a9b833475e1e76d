"""Masked language models such as BERT: opened completely or refused with a reason, with a vocabulary that
does not read a text as control tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from generators.checkpoints.pretrained import architectures, find_folder, open_weights
from generators.checkpoints.tokenizer import PIECES, TOKENIZER, added_tokens, open_tokenizer
from generators.checkpoints.weights import DAMAGED, first_line, input_rows, json_object, positions
from generators.masked.joining import join, words_of
from humaneval.errors import InputError
from humaneval.limits import DOCUMENT, read_whole
from humaneval.text import hidden_characters, refused_characters

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel

DEFAULT = "bert-base-cased"
OTHER = f"Choose a masked language model such as {DEFAULT}."
VOCABULARY, *WORDS_ON_IT = PIECES
UNUSED_WEIGHTS = re.compile(r"(^|\.)pooler\.|^cls\.seq_relationship\.|(^|\.)position_ids$")
"""Weights that a masked language model does not use: the next-sentence head, its pooler, and position ids."""
CONTROL = re.compile(r"\[(unused\d+|[A-Z]+)\]|<\|?\w+\|?>|madeupword\d+")
"""Pieces that are not text."""
ROLES = {
    "mask": ("mask_token", "[MASK]", "<mask>"),
    "first": ("cls_token", "bos_token", "[CLS]", "<s>"),
    "last": ("sep_token", "eos_token", "[SEP]", "</s>"),
}
"""The settings that name the special tokens, then their names by default."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """A vocabulary: text to pieces and back, and the ids that are not text."""

    tokenizer: Tokenizer
    mask: int
    first: int
    last: int
    prefix: str
    """The prefix of pieces that continue a word; empty if pieces contain the spaces."""
    forbidden: tuple[int, ...]
    """The ids that are never written: special and unused tokens, and pieces without a whole visible
    character."""
    continuing: tuple[int, ...]
    cased: bool

    def read(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)

    def write(self, ids: Sequence[int]) -> str:
        if not self.prefix:
            return self.tokenizer.decode(list(ids), skip_special_tokens=False)
        pieces = [self.tokenizer.id_to_token(id) or "" for id in ids]
        return join(words_of(pieces, self.prefix))


@dataclass(frozen=True, slots=True)
class MaskedLM:
    """An opened model. `name` is that of its folder, or its name on the hub."""

    model: PreTrainedModel
    pieces: Pieces
    name: str
    sha256: str
    longest: int
    """The most pieces it can read, including those around the text."""

    def logits(
        self, texts: Sequence[Sequence[int]], rows: Sequence[int], columns: Sequence[int]
    ) -> torch.Tensor:
        """(places, pieces): the logits at texts[rows[i]][columns[i]]; −∞ for forbidden pieces."""
        import torch

        device = self.model.device
        width = max(map(len, texts))
        padding = self.model.config.get_text_config().pad_token_id or 0
        ids = torch.tensor([[*text, *[padding] * (width - len(text))] for text in texts], device=device)
        mask = torch.tensor([[1] * len(text) + [0] * (width - len(text)) for text in texts], device=device)
        at = torch.tensor(rows, device=device), torch.tensor(columns, device=device)
        with torch.no_grad():
            found = self.logits_at(ids, mask, at).float()
        found[:, list(self.pieces.forbidden)] = float("-inf")
        return found

    def logits_at(
        self, ids: torch.Tensor, mask: torch.Tensor, at: tuple[torch.Tensor, torch.Tensor]
    ) -> torch.Tensor:
        """(places, pieces) at the rows and columns `at` of (B, T) ids.

        The output layer is as large as the vocabulary, so it gets only these places.
        """
        layers: Any = self.model
        hook = layers.get_output_embeddings().register_forward_pre_hook(lambda _, given: (given[0][at],))
        try:
            found: torch.Tensor = layers(input_ids=ids, attention_mask=mask).logits
        finally:
            hook.remove()
        return found


def open_masked_lm(name: str, device: str) -> MaskedLM:
    """The model `name`: a hub id such as bert-base-cased, or a folder in the hub's layout.

    Raises InputError if anything is missing or does not fit, or if it is not a masked language model.
    """
    from transformers import AutoModelForMaskedLM

    folder, local = find_folder(name, example=DEFAULT), Path(name).expanduser().exists()
    found = open_weights(
        folder,
        AutoModelForMaskedLM,
        unused=lambda weight: bool(UNUSED_WEIGHTS.search(weight)),
        refuse_others=_refuse_others,
    )
    pieces = open_pieces(folder, input_rows(found.model))
    opened = MaskedLM(
        found.model,
        pieces,
        folder.resolve().name if local else name.split("/")[-1],
        found.sha256,
        positions(found.model) - _offset(found.model),
    )
    _refuse_blind(opened, name)
    opened.model.to(device)
    return opened


def _offset(model: PreTrainedModel) -> int:
    """The number of positions that are not used: RoBERTa counts them from after that of the padding."""
    for name, layer in model.named_modules():
        padding: Any = getattr(layer, "padding_idx", None)
        if name.endswith("position_embeddings") and padding is not None:
            return int(padding) + 1
    return 0


def _refuse_others(folder: Path) -> None:
    """Raise InputError if a model that does not fit is of another kind by its own config: only an encoder,
    GPT-2."""
    for name in architectures(folder):
        if not name.endswith(("ForMaskedLM", "ForPreTraining", "WithLMHeadModel")):
            raise InputError(f"{folder} has a {name}, which does not predict masked pieces", OTHER)


def _refuse_blind(opened: MaskedLM, name: str) -> None:
    """Raise InputError if the logits at a mask do not depend on the piece after it, as in a causal model."""
    import torch

    pieces = opened.pieces
    wrong = f"{type(opened.model).__name__} in {name}"
    if opened.model.config.is_encoder_decoder:
        raise InputError(f"{wrong} writes its answers, and does not fill masks in place", OTHER)
    known = [id for id in range(input_rows(opened.model)) if id not in set(pieces.forbidden)][:2]
    if len(known) < 2:
        raise InputError(f"the vocabulary of {name} has no pieces to fill in", DAMAGED)
    texts = [[pieces.first, pieces.mask, behind, pieces.last] for behind in known]
    first, second = opened.logits(texts, [0, 1], [1, 1])[:, known].double()
    if torch.allclose(first, second, rtol=1e-7, atol=1e-9):
        raise InputError(f"{wrong} does not see the text after a mask", OTHER)


def open_pieces(folder: Path, rows: int) -> Pieces:
    """The vocabulary in a folder: its tokenizer.json, or BERT's vocab.txt. `rows`: the number of ids of the
    model."""
    said, added = _said(folder), added_tokens(folder)
    whole = (folder / TOKENIZER).exists() or not (folder / VOCABULARY).exists()
    tokenizer = open_tokenizer(folder) if whole else _word_pieces(folder / VOCABULARY, said)
    ids = {**tokenizer.get_vocab(), **{token["content"]: token["id"] for token in added}}
    if max(ids.values()) >= rows:
        raise InputError(
            f"the vocabulary in {folder} has {max(ids.values()) + 1:,} pieces, the model {rows:,}",
            "They belong to different models: copy both from one place.",
        )
    special = {role: _find(role, said, ids, folder) for role in ROLES}
    model = json.loads(tokenizer.to_str())["model"]
    prefix = str(model.get("continuing_subword_prefix") or "") if model["type"] == "WordPiece" else ""
    names = {*said.values(), *(token["content"] for token in added if token.get("special"))}
    forbidden = {*range(rows)} - {*ids.values()}
    forbidden |= {*special.values()} | {id for token, id in ids.items() if token in names or _bare(token)}
    for token, id in ids.items():
        text = token.removeprefix(prefix) if prefix else tokenizer.decode([id], skip_special_tokens=False)
        if (
            not text.strip()
            or "\n" in text
            or "\ufffd" in text
            or refused_characters(text)
            or hidden_characters(text)
        ):
            forbidden.add(id)
    capital = "A" if tokenizer.normalizer is None else tokenizer.normalizer.normalize_str("A")
    pieces = Pieces(
        tokenizer,
        **special,
        prefix=prefix,
        forbidden=tuple(sorted(forbidden)),
        continuing=tuple(sorted(id for token, id in ids.items() if prefix and token.startswith(prefix))),
        cased="A" in capital,
    )
    typed = pieces.read("a [MASK] [CLS] [SEP] <mask> <s> </s> " + " ".join(said.values()))
    if {*special.values()} & {*typed}:
        raise InputError(
            f"the vocabulary in {folder} reads a typed mask as a mask, not as text",
            "Choose a model with a vocabulary like that of BERT or RoBERTa.",
        )
    return pieces


def _bare(token: str) -> bool:
    return bool(CONTROL.fullmatch(token))


def _find(role: str, said: dict[str, str], ids: dict[str, int], folder: Path) -> int:
    """The id of a special token."""
    names = [said.get(name, name) for name in ROLES[role]]
    found = next((ids[name] for name in names if name in ids), None)
    if found is None:
        raise InputError(f"the vocabulary in {folder} has no {ROLES[role][0].replace('_', ' ')}", OTHER)
    return found


def _said(folder: Path) -> dict[str, str]:
    """The names of the special tokens in the tokenizer's files."""
    found: dict[str, str] = {}
    for name in WORDS_ON_IT:
        values = json_object(folder / name)
        for key, value in values.items():
            text = value.get("content") if isinstance(value, dict) else value
            if isinstance(text, str) and key.endswith("_token"):
                found[key] = text
    return found


def _word_pieces(file: Path, said: dict[str, str]) -> Tokenizer:
    """BERT's vocabulary, one piece per line. It is lower case if the settings say so, or if it has no
    capitals."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    try:
        lines = read_whole(file, most=DOCUMENT).splitlines()
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {first_line(error)}", DAMAGED) from None
    vocab = {piece: id for id, piece in enumerate(lines)}
    unknown = said.get("unk_token", "[UNK]")
    if unknown not in vocab:
        raise InputError(f"{file} is not a vocabulary of word pieces: it lacks {unknown}", DAMAGED)
    lower = json_object(file.parent / WORDS_ON_IT[0]).get("do_lower_case")
    if not isinstance(lower, bool):
        lower = not any(piece != piece.lower() for piece in lines if not _bare(piece))
    tokenizer = Tokenizer(models.WordPiece(vocab=vocab, unk_token=unknown, max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lower)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    return tokenizer
