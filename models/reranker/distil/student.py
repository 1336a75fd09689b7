"""A BERT cross-encoder with a classification head after several of its layers.

The layers up to each head are a model of their own, so that one run of training gives students of
several depths. The last layer is computed for the first token only, as in the exported graph.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from excerpt import Pair
from packed import apply_linear, attend
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoTokenizer, BertForSequenceClassification


class Student(nn.Module):
    """Gives a logit after each depth of `depths`, (depths, pairs), of a batch of pairs."""

    def __init__(self, start: Path, depths: Sequence[int]) -> None:
        super().__init__()
        source = BertForSequenceClassification.from_pretrained(start)
        self.start = start
        self.depths = tuple(sorted(depths))
        self.heads = source.config.num_attention_heads
        self.embeddings = source.bert.embeddings
        self.layers = source.bert.encoder.layer[: self.depths[-1]]
        self.poolers = nn.ModuleList(copy.deepcopy(source.bert.pooler.dense) for _ in self.depths)
        self.classifiers = nn.ModuleList(copy.deepcopy(source.classifier) for _ in self.depths)
        self.embeddings.word_embeddings.weight.requires_grad_(requires_grad=False)

    def forward(self, pairs: Sequence[Pair]) -> Tensor:
        bounds = [0, *itertools.accumulate(len(pair.ids) for pair in pairs)]
        ids, segment_ids = (
            torch.from_numpy(np.concatenate(rows))
            for rows in ([pair.ids for pair in pairs], [pair.segment_ids for pair in pairs])
        )
        positions = torch.from_numpy(np.concatenate([np.arange(len(pair.ids)) for pair in pairs]))
        x = self._embed(ids, segment_ids, positions)
        logits = []
        for depth, layer in enumerate(self.layers, start=1):
            x = self._run_layer(layer, x, bounds, first_only=depth == self.depths[-1])
            if depth in self.depths:
                at = self.depths.index(depth)
                first = x if depth == self.depths[-1] else x[bounds[:-1]]
                pooled = torch.tanh(self.poolers[at](first.float()))
                logits.append(self.classifiers[at](pooled)[:, 0])
        return torch.stack(logits)

    def save(self, depth: int, out: Path) -> None:
        """Save the student of one depth as a folder that `crx models add` converts."""
        at = self.depths.index(depth)
        model = BertForSequenceClassification.from_pretrained(self.start, num_hidden_layers=depth)
        model.bert.embeddings.load_state_dict(self.embeddings.state_dict())
        model.bert.encoder.layer.load_state_dict(self.layers[:depth].state_dict())
        model.bert.pooler.dense.load_state_dict(self.poolers[at].state_dict())
        model.classifier.load_state_dict(self.classifiers[at].state_dict())
        model.save_pretrained(out)
        AutoTokenizer.from_pretrained(self.start).save_pretrained(out)

    def _embed(self, ids: Tensor, segment_ids: Tensor, positions: Tensor) -> Tensor:
        parts = self.embeddings
        x = (
            parts.word_embeddings(ids)
            + parts.token_type_embeddings(segment_ids)
            + parts.position_embeddings(positions)
        )
        embedded: Tensor = parts.LayerNorm(x).to(torch.bfloat16)
        return embedded

    def _run_layer(
        self, layer: nn.Module, x: Tensor, bounds: list[int], *, first_only: bool
    ) -> Tensor:
        attention = layer.attention
        queries = x[bounds[:-1]] if first_only else x
        asked = list(range(len(bounds))) if first_only else bounds
        query = apply_linear(queries, attention.self.query)
        key, value = apply_linear(x, attention.self.key), apply_linear(x, attention.self.value)
        context = attend(query, key, value, asked, bounds, self.heads)
        attended = apply_linear(context, attention.output.dense)
        y = _normalize(attended + queries, attention.output.LayerNorm)
        inner = functional.gelu(apply_linear(y, layer.intermediate.dense))
        return _normalize(apply_linear(inner, layer.output.dense) + y, layer.output.LayerNorm)


def _normalize(x: Tensor, norm: nn.LayerNorm) -> Tensor:
    weight, bias = norm.weight.to(x.dtype), norm.bias.to(x.dtype)
    return functional.layer_norm(x, norm.normalized_shape, weight, bias, norm.eps)
