"""Small encoder-decoder models with tokenizers like T5's and BART's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    PreTrainedModel,
    T5Config,
    T5ForConditionalGeneration,
)

from tests.models.small_models import LETTERS, keep

SENTINELS = 8


def pieces_tokenizer(texts: Sequence[str], sentinels: int = SENTINELS) -> Tokenizer:
    """A Unigram vocabulary of whole words and letters; the control tokens are pieces of it, as in the
    hub's T5."""
    words = sorted({"▁" + word for text in texts for word in text.split()})
    letters = sorted({chr(n) for n in range(33, 127)} | {"▁"})
    vocab = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    vocab += [(word, -5.0) for word in words] + [(letter, -10.0) for letter in letters if letter not in words]
    vocab += [(f"<extra_id_{number}>", 0.0) for number in reversed(range(sentinels))]
    tokenizer: Any = Tokenizer(models.Unigram(vocab, unk_id=2))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    tokenizer.add_special_tokens(["<pad>", "</s>", "<unk>", *(piece for piece, _ in vocab[-sentinels:])])
    found: Tokenizer = tokenizer
    return found


def tiny_t5(folder: Path, tokenizer: Tokenizer, **settings: Any) -> Path:
    """With three rows more than tokens, as T5 has."""
    torch.manual_seed(1)
    values = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2, **settings}
    config = T5Config(
        vocab_size=tokenizer.get_vocab_size() + 3,
        decoder_start_token_id=0,
        tie_word_embeddings=True,
        **values,
    )
    return keep(folder, T5ForConditionalGeneration(config), tokenizer)


def bytes_tokenizer() -> Tokenizer:
    """Single bytes, and BART's control tokens at the places of the hub's."""
    vocab = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    vocab |= {letter: 4 + n for n, letter in enumerate(LETTERS)} | {"<mask>": 4 + len(LETTERS)}
    tokenizer: Any = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    found: Tokenizer = tokenizer
    return found


def tiny_bart(folder: Path, tokenizer: Tokenizer, **settings: Any) -> Path:
    torch.manual_seed(1)
    values = {
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "max_position_embeddings": 256,
        **settings,
    }
    config = BartConfig(vocab_size=tokenizer.get_vocab_size(), **values)
    return keep(folder, BartForConditionalGeneration(config), tokenizer)


def train_pair(
    model: PreTrainedModel, examples: Sequence[tuple[list[int], list[int]]], *, steps: int, rate: float = 3e-3
) -> float:
    """Teach (read, write) pairs in batches of 16; returns the last loss. Seeded, on one thread."""
    module: Any = model
    module.train()
    optimizer = torch.optim.AdamW(module.parameters(), lr=rate, weight_decay=0.0)
    chance = torch.Generator().manual_seed(0)
    pad = int(model.config.pad_token_id or 0)
    loss = torch.zeros(())
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 50, 2 * (steps - step) / steps)
        chosen = [examples[int(n)] for n in torch.randint(len(examples), (16,), generator=chance)]
        read, written = (
            _padded([pair[side] for pair in chosen], fill) for side, fill in ((0, pad), (1, -100))
        )
        mask = (read != pad).long()
        loss = module(input_ids=read, attention_mask=mask, labels=written).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    module.train(False)
    return loss.item()


def written_on(prompt: Sequence[int], answer: Sequence[int]) -> tuple[list[int], list[int]]:
    """The pair that teaches a causal model to continue a prompt."""
    return [*prompt, *answer], [-100] * len(prompt) + [*answer]


def _padded(rows: Sequence[Sequence[int]], fill: int) -> torch.Tensor:
    width = max(map(len, rows))
    return torch.tensor([[*row, *[fill] * (width - len(row))] for row in rows])


def change_file(folder: Path, name: str, **values: Any) -> None:
    """Other values in a JSON file of a model's folder."""
    file = folder / name
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))
