"""GPT-2, one token of a single row at a time, on a processor.

With one row, a product with weights takes hardly longer than reading them, and starting operations from
Python takes as long as all the rest. So NumPy does most of a step, in arrays that stay: it starts an
operation in a third of torch's time. Torch normalises, attends and computes GELU on the same memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from generators.sampling.huge_pages import Span, use_huge_pages
from generators.sampling.products import Product, norm

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel

Numbers = NDArray[np.float32]
Multiply = Callable[[Numbers, Numbers], object]
"""Write the product of the first, a vector, with weights, plus a bias, into the second."""
LIGHT = 1 << 20
"""Bytes of weights by which one thread has multiplied one row before several begin."""
CACHED = 16 << 20
"""Bytes of weights that a processor's cache may hold from one token to the next."""
MOST_COPIED = 16 << 20
"""Bytes of the output layer's weights that are copied once more, so that a row's products read them in their
order."""


@dataclass(frozen=True, slots=True)
class Layer:
    """The parts of a layer."""

    before: Product
    mix: Multiply
    out: Multiply
    between: Product
    widen: Multiply
    narrow: Multiply


@dataclass(frozen=True, slots=True)
class RowLayers:
    """A model's layers for single rows, between the embeddings of tokens and of places and the logits."""

    words: Numbers
    places: Numbers
    wide: int
    """The numbers between `widen` and `narrow`."""
    layers: tuple[Layer, ...]
    last: Product
    head: Product
    """From (1, width) states to (1, V) logits."""


def row_layers(model: PreTrainedModel, head: Product) -> RowLayers | None:
    """The layers of a model in fp32; None where several threads do better, or a module is of another
    kind. `head` is the output layer for any number of rows."""
    import torch
    from transformers.pytorch_utils import Conv1D

    body: Any = model.transformer
    blocks = [(one.attn.c_attn, one.attn.c_proj, one.mlp.c_fc, one.mlp.c_proj) for one in body.h]
    linear = [module for modules in blocks for module in modules]
    # Variants of this module may do more.
    if not all(type(one) is Conv1D and one.weight.is_contiguous() for one in linear):
        return None
    alone = torch.get_num_threads() == 1
    if not alone and any(one.weight.nbytes > LIGHT for one in linear):
        return None
    tables = [_array(one.weight) for one in linear]
    outer: Any = model.lm_head
    if type(outer) is torch.nn.Linear and outer.weight.nbytes <= (MOST_COPIED if alone else LIGHT):
        tables.append(_array(outer.weight.t().contiguous()))
    use_huge_pages(Span(one.ctypes.data, one.ctypes.data + one.nbytes) for one in tables)
    product = _product(sum(one.nbytes for one in tables))
    if len(tables) > len(linear):
        head = _logits(tables[-1], outer.bias, product)
    layers = []
    for block, modules in zip(body.h, blocks, strict=True):
        mix, out, widen, narrow = (_multiply(_array(one.weight), one.bias, product) for one in modules)
        layers.append(Layer(norm(block.ln_1), mix, out, norm(block.ln_2), widen, narrow))
    words, places, wide = _array(body.wte.weight), _array(body.wpe.weight), linear[2].nf
    return RowLayers(words, places, wide, tuple(layers), norm(body.ln_f), head)


def _array(weight: Tensor) -> Numbers:
    return weight.detach().numpy()


def _product(size: int) -> Callable[..., object]:
    """The product of a vector and weights that is the quickest one for a model with `size` bytes of weights.

    Both run on one thread. A model in the processor's cache is read the fastest by BLAS; any other by the one
    that reads it without a break.
    """
    return np.dot if size <= CACHED and _one_thread() else partial(np.einsum, "i,ij->j")


def _multiply(table: Numbers, bias: Tensor | None, product: Callable[..., object]) -> Multiply:
    """Multiplication with (in, out) weights."""
    if bias is None:
        return lambda states, found: product(states, table, out=found)
    more = _array(bias)

    def multiply(states: Numbers, found: Numbers) -> None:
        product(states, table, out=found)
        np.add(found, more, found)

    return multiply


def _one_thread() -> bool:
    """Whether BLAS has one thread for NumPy. It asks the environment, when it is loaded."""
    wanted = (os.environ.get(name) for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"))
    return next(filter(None, wanted), str(os.cpu_count())) == "1"


def _logits(table: Numbers, bias: Tensor | None, product: Callable[..., object]) -> Product:
    import torch

    multiply = _multiply(table, bias, product)

    def head(states: Tensor) -> Tensor:
        found = np.empty(table.shape[1], np.float32)
        multiply(states.numpy()[0], found)
        return torch.from_numpy(found).unsqueeze(0)

    return head


class SingleRow:
    """A row in progress. Its keys and values are in (2 times layers, 1, heads, columns, width of a head), the
    keys of a layer before its values."""

    def __init__(self, model: RowLayers, seen: Tensor, columns: Tensor, last: int) -> None:
        """Continue a row that so far has these columns of `seen`; `last` is the last place of the model."""
        import torch

        self.model, self.seen, self.last = model, seen, last
        self.filled = len(columns)
        if int(columns[-1]) >= self.filled:
            seen[:, :, :, : self.filled] = seen[:, :, :, columns]
        heads, width = seen.shape[2], seen.shape[4]
        size = heads * width
        sizes = (size, size, 3 * size, model.wide)
        self.states, self.sums, self.mixed, self.wide = (np.empty(one, np.float32) for one in sizes)
        self.shared, self.widened = torch.from_numpy(self.states), torch.from_numpy(self.wide)
        self.query = torch.from_numpy(self.mixed[:size]).view(1, heads, 1, width)
        self.entry = self.mixed[size:].reshape(2, heads, width)
        self.entries = seen.numpy()[:, 0]

    def feed(self, token: int) -> Tensor:
        """(1, V) logits after one more token."""
        from torch.nn.functional import gelu
        from torch.nn.functional import scaled_dot_product_attention as attend

        model, at, states, sums = self.model, self.filled, self.states, self.sums
        mixed, wide, shared, widened = self.mixed, self.wide, self.shared, self.widened
        np.add(model.words[token], model.places[min(at, self.last)], states)
        seen = self.seen.narrow(3, 0, at + 1).unbind()
        for number, layer in enumerate(model.layers):
            keys = 2 * number
            layer.mix(layer.before(shared).numpy(), mixed)
            self.entries[keys : keys + 2, :, at] = self.entry
            found = attend(self.query, seen[keys], seen[keys + 1])
            layer.out(found.numpy().ravel(), sums)
            np.add(states, sums, states)
            layer.widen(layer.between(shared).numpy(), wide)
            layer.narrow(gelu(widened, approximate="tanh").numpy(), sums)
            np.add(states, sums, states)
        self.filled = at + 1
        return model.head(model.last(shared).unsqueeze(0))
