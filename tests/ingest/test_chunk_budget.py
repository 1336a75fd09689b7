"""The default length of a chunk."""

from __future__ import annotations

import pytest

from crx._backends.hashed import HashedEmbedder
from crx.ingest.write import ChunkBudget, chunk_budget


@pytest.mark.parametrize(("window", "size"), [(512, 190), (254, 190), (200, 136), (100, 50)])
def test_a_chunk_leaves_room_for_its_context_and_is_not_longer_than_the_measured_ones(
    window: int, size: int
) -> None:
    assert chunk_budget(HashedEmbedder(max_tokens=window)) == ChunkBudget(size)


def test_a_budget_that_is_given_is_taken() -> None:
    embedder = HashedEmbedder(max_tokens=100)
    assert chunk_budget(embedder, chunk_tokens=400) == ChunkBudget(400)
    assert chunk_budget(embedder, chunk_chars=400, overlap=9) == ChunkBudget(
        400, in_chars=True, overlap=9
    )
