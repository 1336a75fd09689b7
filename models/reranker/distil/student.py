"""A BERT cross-encoder with a classification head after several of its layers.

The layers up to each head are a model of their own, so that one run of training gives students of
several depths. The last layer is computed for the first token only, as in the exported graph.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from excerpt import Pair
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
        ids, segment_ids, mask = _pad(pairs)
        x = self.embeddings(input_ids=ids, token_type_ids=segment_ids)
        logits = []
        for depth, layer in enumerate(self.layers, start=1):
            x = self._run_layer(layer, x, mask, first_only=depth == self.depths[-1])
            if depth in self.depths:
                at = self.depths.index(depth)
                pooled = torch.tanh(self.poolers[at](x[:, 0]))
                logits.append(self.classifiers[at](pooled)[:, 0].float())
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

    def _run_layer(self, layer: nn.Module, x: Tensor, mask: Tensor, *, first_only: bool) -> Tensor:
        attention = layer.attention
        queries = x[:, :1] if first_only else x
        query = self._split(attention.self.query(queries))
        key, value = self._split(attention.self.key(x)), self._split(attention.self.value(x))
        context = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        context = context.transpose(1, 2).flatten(2)
        y = attention.output.LayerNorm(attention.output.dense(context) + queries)
        inner = functional.gelu(layer.intermediate.dense(y))
        normed: Tensor = layer.output.LayerNorm(layer.output.dense(inner) + y)
        return normed

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def _pad(pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
    shape = (len(pairs), max(len(pair.ids) for pair in pairs))
    ids, segment_ids = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    mask = np.zeros(shape, bool)
    for row, pair in enumerate(pairs):
        length = len(pair.ids)
        ids[row, :length], segment_ids[row, :length] = pair.ids, pair.segment_ids
        mask[row, :length] = True
    return (
        torch.from_numpy(ids),
        torch.from_numpy(segment_ids),
        torch.from_numpy(mask)[:, None, None],
    )
