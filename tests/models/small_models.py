"""Small models in the layouts of real ones, and their tokenizers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedModel

ALPHABET = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
LETTERS = [*map(chr, ALPHABET), *(chr(0x100 + n) for n in range(256 - len(ALPHABET)))]
"""The 256 bytes in the order of GPT-2's vocabulary."""


def tiny_gpt2(rows: int, **settings: Any) -> GPT2LMHeadModel:
    torch.manual_seed(1)
    values = {"n_positions": 256, "n_embd": 16, "n_layer": 2, "n_head": 2, **settings}
    return GPT2LMHeadModel(GPT2Config(vocab_size=rows, bos_token_id=None, eos_token_id=None, **values))


def tiny_llama(rows: int, **settings: Any) -> LlamaForCausalLM:
    torch.manual_seed(1)
    values = {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        **settings,
    }
    config = LlamaConfig(
        vocab_size=rows,
        max_position_embeddings=256,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=None,
        **values,
    )
    return LlamaForCausalLM(config)


def keep(folder: Path, model: PreTrainedModel, tokenizer: Any, **settings: Any) -> Path:
    """A folder in the hub's layout."""
    model.save_pretrained(folder, **settings)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def with_control_tokens(tokenizer: Any, *contents: str) -> Any:
    """A copy that matches `contents` in every text, as a hub's tokenizer.json does."""
    from tokenizers import Tokenizer

    copy = Tokenizer.from_str(tokenizer.to_str())
    copy.add_special_tokens(list(contents))
    return copy


def like_gpt2() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """A vocabulary of GPT-2's size that reads ` This is an example.` as GPT-2 does, and nearly all else
    as bytes."""
    words = {"ĠThis": 770, "Ġis": 318, "Ġan": 281, "Ġexample": 1672}
    merges = [(word[:n], word[n]) for word in words for n in range(1, len(word))]
    merges = list(dict.fromkeys(merges))
    vocab = {letter: n for n, letter in enumerate(LETTERS)} | words
    free = (n for n in range(256, 50_257) if n not in vocab.values())
    for left, right in merges:
        if left + right not in vocab:
            vocab[left + right] = next(free)
    vocab["<|endoftext|>"] = 50_256
    for n in sorted(set(range(50_257)) - set(vocab.values())):
        vocab[f"unused {n}"] = n
    return vocab, merges


def write_pair(folder: Path, vocab: dict[str, int], merges: list[tuple[str, str]]) -> None:
    (folder / "vocab.json").write_text(json.dumps(vocab), encoding="utf-8")
    lines = ["#version: 0.2", *(" ".join(pair) for pair in merges)]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


class RunsOnUnpickling:
    """Creates a file when it is unpickled, which must never happen."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.marker,)
