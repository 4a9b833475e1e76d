"""Causal language models to train: new ones, their dropout, and their optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from generators.checkpoints.sequences import CONTEXT_LENGTH, SpecialIds
from generators.sampling.flat_forward import is_plain_gpt2
from generators.training.plan import Architecture, Plan
from humaneval.errors import UsageError

if TYPE_CHECKING:
    import torch
    from transformers import GPT2LMHeadModel, PreTrainedModel


def new_model(architecture: Architecture, special: SpecialIds, seed: int) -> GPT2LMHeadModel:
    """A new model with GPT-2's architecture and weights drawn by the seed."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=special.total,
        n_positions=CONTEXT_LENGTH,
        n_embd=architecture.width,
        n_layer=architecture.layers,
        n_head=architecture.heads,
        resid_pdrop=architecture.dropout,
        embd_pdrop=architecture.dropout,
        attn_pdrop=architecture.attention_dropout,
        bos_token_id=None,
        eos_token_id=special.end,
        pad_token_id=None,
    )
    return GPT2LMHeadModel(config)


def set_dropout(model: PreTrainedModel, dropout: float | None, attention: float | None) -> None:
    """Change the dropout of a pre-trained GPT-2. Raises UsageError for other architectures, which keep
    theirs."""
    if dropout is None and attention is None:
        return
    if not is_plain_gpt2(model):
        raise UsageError(
            f"the dropout of {type(model).__name__} cannot be changed", "Leave these options out."
        )
    body: Any = model.transformer
    if dropout is not None:
        for module in (
            body.drop,
            *(part for block in body.h for part in (block.attn.resid_dropout, block.mlp.dropout)),
        ):
            module.p = dropout
        model.config.resid_pdrop = model.config.embd_pdrop = dropout
    if attention is not None:
        for block in body.h:
            block.attn.attn_dropout.p = attention
        model.config.attn_pdrop = attention


def make_optimizer(model: PreTrainedModel, plan: Plan) -> torch.optim.Optimizer:
    """Fused AdamW; weight decay is only for matrices."""
    import torch

    decayed = [parameter for parameter in model.parameters() if parameter.dim() >= 2]
    others = [parameter for parameter in model.parameters() if parameter.dim() < 2]
    groups = [{"params": decayed, "weight_decay": plan.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=plan.learning_rate, fused=True)
