"""The reranker's training without padding beside PyTorch's own layers."""

from __future__ import annotations

import itertools

import pytest

torch = pytest.importorskip("torch")
packed = pytest.importorskip("models.reranker.distil.packed")

LENGTHS = (3, 17, 8)
BOUNDS = [0, *itertools.accumulate(LENGTHS)]
HEADS, SIZE = 2, 16


def test_attention_and_its_gradients_are_those_of_each_text_by_itself() -> None:
    torch.manual_seed(1)
    parts = [torch.randn(BOUNDS[-1], HEADS * SIZE, requires_grad=True) for _ in range(3)]
    ours = packed.attend(*(part.bfloat16() for part in parts), BOUNDS, BOUNDS, HEADS)
    wanted = torch.randn_like(ours)
    ours.backward(wanted)
    grads = [part.grad.clone() for part in parts]
    for part in parts:
        part.grad = None
    texts = zip(*(part.split(LENGTHS) for part in parts), strict=True)
    theirs = torch.cat(
        [
            torch.nn.functional.scaled_dot_product_attention(
                *(each.unflatten(-1, (HEADS, SIZE)).transpose(0, 1) for each in text)
            )
            .transpose(0, 1)
            .flatten(1)
            for text in texts
        ]
    )
    theirs.backward(wanted.float())
    assert (ours.float() - theirs).abs().max() < 0.05
    for grad, part in zip(grads, parts, strict=True):
        assert torch.cosine_similarity(grad.flatten(), part.grad.flatten(), 0) > 0.999


def test_a_linear_layer_and_its_gradients_are_those_in_single_precision() -> None:
    torch.manual_seed(2)
    layer = torch.nn.Linear(16, 24)
    x = torch.randn(9, 16)
    wanted = torch.randn(9, 24)
    layer(x).backward(wanted)
    grads = [each.grad.clone() for each in layer.parameters()]
    layer.zero_grad()
    ours = packed.apply_linear(x.bfloat16(), layer)
    ours.backward(wanted.bfloat16())
    assert (ours.float() - layer(x)).abs().max() < 0.05
    for grad, each in zip(grads, layer.parameters(), strict=True):
        assert torch.cosine_similarity(grad.flatten(), each.grad.flatten(), 0) > 0.999
