"""Terms as rows, and the bound by which exact results are known to be complete."""

from __future__ import annotations

import random

import pytest

from crx.errors import UsageError
from crx_engines.engine.bm25 import TermCounts
from crx_engines.engine.protocol import Saturation
from crx_engines.milvus.term_rows import (
    STORED,
    TermSums,
    count_fields,
    decode_counts,
    dimension,
    doc_freq,
    encode_counts,
    hash_term,
    most_increase,
    sparse_vector,
)

TERMS = TermCounts({"index": [3, 1, 0], "folder": [0, 0, 2]}, (40, 3, 9))


def test_counts_are_read_as_they_were_written() -> None:
    terms, counts = decode_counts(encode_counts(TERMS, uri="a"))
    assert dict(zip(terms.tolist(), counts.tolist(), strict=True)) == {
        hash_term("index"): [3, 1, 0],
        hash_term("folder"): [0, 0, 2],
    }


def test_a_chunk_of_too_many_words_is_refused() -> None:
    many = TermCounts({f"w{n}": [n % 999, n % 7, n % 5] for n in range(9000)}, (9000, 0, 0))
    with pytest.raises(UsageError, match=r"big: a chunk of 9,000 different words .* smaller"):
        encode_counts(many, uri="big")


def test_document_frequencies_add_up_and_cancel() -> None:
    put = count_fields([decode_counts(encode_counts(TERMS, uri="a"))] * 3)
    sums = TermSums()
    for _, body in put.encode():
        sums.add_encoded(body)
    assert doc_freq(sums, hash_term("index"), Saturation()) == 3
    assert doc_freq(sums, hash_term("index"), Saturation(weights=(0, 0, 1))) == 0
    assert doc_freq(sums, hash_term("folder"), Saturation(weights=(0, 0, 1))) == 3
    sums.subtract(put)
    assert sums.encode() == []


def test_a_chunk_without_terms_has_a_vector_that_no_query_meets() -> None:
    ((at, _),) = sparse_vector(TermCounts({}, (0, 0, 0)), mean_length=1.0).items()
    assert at > max(dimension(hash_term(word)) for word in ("a", "index"))


def test_no_exact_saturation_exceeds_the_bound() -> None:
    chance = random.Random(5)
    for _ in range(300):
        counts = [chance.randint(0, 9), chance.randint(0, 3), chance.randint(0, 3)]
        lengths = (counts[0] + chance.randint(1, 400), counts[1] + 2, counts[2] + 5)
        wanted = Saturation(
            k1=chance.uniform(0.3, 3),
            b=chance.uniform(0, 1),
            weights=(1.0, chance.uniform(0.1, 4), chance.uniform(0.1, 4)),
        )
        stored_mean, mean = chance.uniform(20, 300), chance.uniform(20, 300)
        stored = sparse_vector(TermCounts({"t": counts}, lengths), mean_length=stored_mean)
        frequency = sum(w * n for w, n in zip(wanted.weights, counts, strict=True))
        if frequency:
            exact = frequency / (frequency + wanted.norm(lengths, mean_length=mean))
            bound = most_increase(wanted, mean_length=mean, stored_mean=stored_mean)
            assert exact <= stored[dimension(hash_term("t"))] * bound * (1 + 1e-9)
    assert most_increase(STORED, mean_length=50.0, stored_mean=50.0) == 1.0
    assert most_increase(Saturation(weights=(1, 0, 1)), mean_length=1, stored_mean=1) == float(
        "inf"
    )
