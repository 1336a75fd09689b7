"""Matrix products of a batch of texts of any lengths, without padding, in bfloat16.

The tokens of all texts are the rows of one matrix. Attention is computed text by text, so that its
weights stay in the processor's cache: with AMX, scaled_dot_product_attention's backward pass would
take longer than everything else.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

# The first row of each text, and the number of rows.
Bounds = Sequence[int]


class _Linear(Function):
    """A linear layer whose weight, in single precision, is rounded to bfloat16."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        rounded = weight.to(torch.bfloat16)
        ctx.save_for_backward(x, rounded)
        return torch.addmm(bias.to(torch.bfloat16), x, rounded.t().contiguous())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, rounded = ctx.saved_tensors
        (grad,) = grads
        return grad @ rounded, (grad.t() @ x).float(), grad.sum(0, dtype=torch.float32)


class _Attention(Function):
    """Attention of queries to the keys of their own text; (rows, heads, size) each."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, asked: Bounds, read: Bounds
    ) -> Tensor:
        scale = 1 / math.sqrt(query.shape[-1])
        out, shares = torch.empty_like(query), []
        for rows, texts in zip(_slices(asked), _slices(read), strict=True):
            q, k, v = (
                part.transpose(0, 1) for part in (query[rows] * scale, key[texts], value[texts])
            )
            share = torch.softmax(torch.bmm(q, k.transpose(1, 2)), -1)
            out[rows] = torch.bmm(share, v).transpose(0, 1)
            shares.append(share)
        ctx.save_for_backward(query, key, value, out, *shares)
        ctx.bounds = asked, read
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, out, *shares = ctx.saved_tensors
        (grad,) = grads
        scale = 1 / math.sqrt(query.shape[-1])
        to_query, to_key, to_value = map(torch.empty_like, (query, key, value))
        means = (grad * out).sum(-1, keepdim=True)
        slices = zip(*map(_slices, ctx.bounds), shares, strict=True)
        for rows, texts, share in slices:
            q, k, v, g, mean = (
                part.transpose(0, 1)
                for part in (query[rows], key[texts], value[texts], grad[rows], means[rows])
            )
            to_value[texts] = torch.bmm(share.transpose(1, 2), g).transpose(0, 1)
            logits = torch.bmm(g, v.transpose(1, 2)).sub_(mean).mul_(share)
            to_query[rows] = torch.bmm(logits, k).transpose(0, 1) * scale
            to_key[texts] = torch.bmm(logits.transpose(1, 2), q).transpose(0, 1) * scale
        return to_query, to_key, to_value, None, None


def apply_linear(x: Tensor, layer: torch.nn.Linear) -> Tensor:
    """Return a linear layer of (rows, inputs) in bfloat16."""
    out: Tensor = _Linear.apply(x, layer.weight, layer.bias)
    return out


def attend(
    query: Tensor, key: Tensor, value: Tensor, asked: Bounds, read: Bounds, heads: int
) -> Tensor:
    """Return the attention of (rows, hidden) queries; `asked` and `read` bound the texts' rows."""
    parts = (part.unflatten(-1, (heads, -1)) for part in (query, key, value))
    out: Tensor = _Attention.apply(*parts, asked, read)
    return out.flatten(1)


def _slices(bounds: Bounds) -> list[slice]:
    return [slice(start, end) for start, end in itertools.pairwise(bounds)]
