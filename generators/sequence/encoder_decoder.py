"""Encoder-decoder models: opened with their tokenizer, and drawn from in batches, each row with its own
random numbers."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from generators.checkpoints.pretrained import architectures, find_folder, open_weights
from generators.checkpoints.tokenizer import added_tokens, open_tokenizer
from generators.checkpoints.weights import CONFIG, DAMAGED, positions
from generators.devices import pick_device
from generators.sampling.choosing import Sampling, choose
from generators.sampling.decoding import uniforms
from humaneval.errors import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel

UNBOUNDED = 1 << 30
UNUSED = re.compile(
    r"EncDecAttention\.relative_attention_bias\.weight$|^(model\.)?(encoder|decoder)\.version$"
)
"""Weights in old files that no layer uses."""
SENTINEL = re.compile(r"<extra_id_\d+>")


@dataclass(frozen=True, slots=True)
class Opened:
    """A model, its tokenizer, which does not read a text as control tokens, and the ids of the control
    tokens."""

    model: PreTrainedModel
    tokenizer: Tokenizer
    control: Mapping[str, int]
    origin: str
    """The name of the model and the hash of its weights."""

    @property
    def start(self) -> int:
        """The id that the decoder starts with."""
        found = getattr(self.model.config, "decoder_start_token_id", None)
        return self.pad if found is None else int(found)

    @property
    def pad(self) -> int:
        return int(self.model.config.pad_token_id or 0)

    @property
    def end(self) -> int:
        return int(self.model.config.eos_token_id)

    def reads(self, otherwise: int) -> int:
        """The most tokens it can read; `otherwise` if only its training limits them."""
        found = positions(self.model)
        return otherwise if found == UNBOUNDED else found

    def unwritten(self, but: Collection[int]) -> list[int]:
        """The ids that may not be drawn: control tokens other than `but`, and rows without a token."""
        written = set(self.tokenizer.get_vocab().values()) - set(self.control.values()) | set(but)
        return [id for id in range(rows(self.model)) if id not in written]


def rows(model: PreTrainedModel) -> int:
    """The number of tokens of the output layer."""
    layers: Any = model  # torch knows a layer's fields only by name
    return int(layers.get_output_embeddings().weight.shape[0])


def open_pair(name: str, device: str, example: str) -> Opened:
    """The model in a folder of the hub's layout, or of a hub id. Raises InputError if anything is missing or
    does not fit."""
    folder, local = find_folder(name, example=example), Path(name).expanduser().exists()
    from transformers import AutoModelForSeq2SeqLM

    def refuse_others(folder: Path) -> None:
        for found in architectures(folder):
            if not found.endswith("ForConditionalGeneration"):
                raise InputError(
                    f"{folder} has a {found}, which is not an encoder and decoder",
                    f"Choose a model such as {example}.",
                )

    refuse_others(folder)
    found = open_weights(
        folder,
        AutoModelForSeq2SeqLM,
        unused=lambda name: bool(UNUSED.search(name)),
        refuse_others=refuse_others,
    )
    model = found.model
    tokenizer, control = open_reader(folder)
    ids = max([*tokenizer.get_vocab().values(), *control.values()]) + 1
    if ids > rows(model):
        raise InputError(f"the tokenizer in {folder} has {ids:,} ids, the model {rows(model):,}", DAMAGED)
    if not isinstance(model.config.eos_token_id, int):
        raise InputError(f"{folder / CONFIG} names no end token (eos_token_id)", DAMAGED)
    layers: Any = model
    layers.to(pick_device(device))
    shown = folder.resolve().name if local else name
    return Opened(model, tokenizer, control, f"{shown} sha256:{found.sha256}")


class Reader(NamedTuple):
    """A tokenizer without its control tokens, and their ids by name."""

    tokenizer: Tokenizer
    control: dict[str, int]


def open_reader(folder: Path) -> Reader:
    """The tokenizer in a folder.

    A vocabulary of scored pieces also has the control tokens as pieces, and would find them in a story. They
    are renamed to strings that no text contains.
    """
    from tokenizers import Tokenizer

    tokenizer = open_tokenizer(folder)
    values: dict[str, Any] = json.loads(tokenizer.to_str())
    control: dict[str, int] = {token["content"]: token["id"] for token in added_tokens(folder)}
    for name in ("<s>", "<pad>", "</s>", "<unk>", "<mask>"):
        id = tokenizer.token_to_id(name)
        if id is not None:
            control[name] = id
    if values["model"]["type"] == "Unigram":
        pieces = values["model"]["vocab"]
        control |= {piece: id for id, (piece, _) in enumerate(pieces) if SENTINEL.fullmatch(piece)}
        for id in control.values():
            if id < len(pieces):
                pieces[id][0] = f"\0{id}"
        tokenizer = Tokenizer.from_str(json.dumps(values))
    return Reader(tokenizer, control)


class Drawn(NamedTuple):
    """The ids of a row, without the end token. `ended`: whether the end token or a stop ended it, not its
    length."""

    ids: tuple[int, ...]
    ended: bool


@dataclass(frozen=True, slots=True)
class Source:
    """What a row reads, the key of its random numbers, its most new tokens, and what ends it besides the end
    token."""

    ids: Sequence[int]
    key: str
    longest: int
    stops: Collection[int] = ()


def draw_pairs(
    opened: Opened,
    sources: Sequence[Source],
    *,
    sampling: Sampling,
    seed: int,
    prefix: Sequence[int],
    forbidden: Sequence[int],
) -> list[Drawn]:
    """Read every source once, then write after `prefix` until each row ends. Rows do not depend on each
    other.

    Sources are padded on the right and the padding is masked, in the encoder and for the decoder.
    """
    import torch
    from transformers import DynamicCache, EncoderDecoderCache

    model = opened.model
    device = model.device
    width = max(len(source.ids) for source in sources)
    steps = max(source.longest for source in sources)
    ids = torch.full((len(sources), width), opened.pad)
    mask = torch.zeros((len(sources), width), dtype=torch.long)
    chance = torch.zeros((len(sources), steps), dtype=torch.float64)
    for row, source in enumerate(sources):
        ids[row, : len(source.ids)] = torch.tensor(list(source.ids))
        mask[row, : len(source.ids)] = 1
        chance[row, : source.longest] = torch.from_numpy(np.array(uniforms(seed, source.key, source.longest)))
    ids, mask = ids.to(device), mask.to(device)
    banned = torch.tensor(list(forbidden), dtype=torch.long, device=device)
    cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
    # Older releases of transformers 5 call it past_key_values.
    named = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
    fixed: dict[str, Any] = {named: cache, "use_cache": True, "attention_mask": mask}
    drawn: list[list[int]] = [[] for _ in sources]
    ended, running = [False] * len(sources), [True] * len(sources)
    with torch.inference_mode():
        read = model.get_encoder()(input_ids=ids, attention_mask=mask)
        new = torch.tensor([list(prefix)] * len(sources), device=device)
        for step in range(steps):
            logits = model(encoder_outputs=read, decoder_input_ids=new, **fixed).logits[:, -1].float()
            logits.index_fill_(-1, banned, float("-inf"))
            chosen = choose(logits, sampling, chance[:, step].to(device)).tokens
            for row, token in enumerate(chosen):
                if not running[row]:
                    continue
                source = sources[row]
                ended[row] = token == opened.end or token in source.stops
                if not ended[row]:
                    drawn[row].append(token)
                running[row] = not ended[row] and len(drawn[row]) < source.longest
            if not any(running):
                break
            new = torch.tensor(chosen, device=device).unsqueeze(1)
    return [Drawn(tuple(row), done) for row, done in zip(drawn, ended, strict=True)]
