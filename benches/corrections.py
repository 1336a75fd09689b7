"""Time that the correction of a query takes, for words that no document has.

The queries are made of words of the documents, always the same: a word with a typing error, a
question with one, two such words, and letters in a row that are no word. Told are milliseconds of
the CPU and of the clock, of the correction alone, and how many queries are corrected.

Run: python benches/corrections.py INDEX [--queries 400]
"""

from __future__ import annotations

import argparse
import random
import re
import time
from itertools import islice
from pathlib import Path

import numpy as np
from harness import commit, processor

import crx
from crx.retrieve._query.spelling import correct_spelling

SEED = 3
KINDS = ("one typing error", "one in a question", "no word", "two typing errors")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Documents whose words are used.
_DOCUMENTS = 1_000


def misspell(word: str, chance: random.Random) -> str:
    """Return a word with a letter left out, added, replaced or swapped with the next."""
    at, letter = chance.randrange(1, len(word) - 1), chance.choice(_LETTERS)
    return chance.choice(
        [
            word[:at] + word[at + 1 :],
            word[:at] + letter + word[at:],
            word[:at] + letter + word[at + 1 :],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        ]
    )


def make_queries(words: list[str], count: int) -> list[str]:
    """Return the queries, a kind after the other."""
    chance = random.Random(SEED)
    made = []
    for number in range(count):
        word, other = chance.choice(words), chance.choice(words)
        noise = "".join(chance.choice(_LETTERS) for _ in range(chance.randrange(6, 12)))
        wrong = misspell(word, chance)
        forms = (
            wrong,
            f"how does {wrong} work with {other}",
            noise,
            f"{wrong} {misspell(other, chance)}",
        )
        made.append(forms[number % len(KINDS)])
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("index", type=Path)
    parser.add_argument("--queries", type=int, default=400)
    given = parser.parse_args()
    with crx.open(given.index, create=False, settings={"reranker": ""}) as index:
        texts = (document.text for document in islice(index.documents(), _DOCUMENTS))
        found = {word for text in texts for word in re.findall(r"[a-z]{5,14}", text)}
        queries = make_queries(sorted(found), given.queries)
        with index.searcher() as searcher:
            times, corrected = [], 0
            for query in queries:
                cpu, wall = time.thread_time(), time.perf_counter()
                made = correct_spelling(
                    query, terms=searcher.terms, documents=searcher.documents, langs=searcher.langs
                )
                times.append((time.thread_time() - cpu, time.perf_counter() - wall))
                corrected += made is not None
        chunks = index.status().counts["chunks"]
    made_of = f"{chunks} chunks, {processor()}, commit {commit()}"
    print(f"{made_of}: {corrected} of {len(queries)} corrected")
    taken = 1_000 * np.array(times)
    print("| ms | CPU p50 | p95 | clock p50 | p95 |\n|---|---:|---:|---:|---:|")
    parts = [(name, taken[at :: len(KINDS)]) for at, name in enumerate(KINDS)]
    for name, part in [*parts, ("all", taken)]:
        cells = [f"{np.percentile(part[:, at], cut):.1f}" for at in (0, 1) for cut in (50, 95)]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
