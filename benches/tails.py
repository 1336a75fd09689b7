"""Less relevant hits: what they take of an agent's tokens, and how many answers are among them.

Each question is asked by the MCP tool `search`, ten results with their best lines, on an index of
the question set. For each share of the best score below which a hit is less relevant, the table has
the tokens of an answer (of the tokenizer of `e5`), the share of the hits that are less relevant,
and, of the gold items whose chunk is among the ten, how many are among the less relevant alone. 0
makes no hit less relevant.

The share was chosen on codebases, contracts and wiki-en; the other sets report.

Run: python benches/tails.py SET INDEX [--questions 200] [--shares 0 0.4 0.5 0.6]
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer

from crx._models.store import find_model
from crx.retrieve import hits
from crx.types import Hit
from crx_evaluate import Query, read_questions
from crx_serve.json_text import encode_json
from crx_serve.mcp.answers import as_tool_lines
from crx_serve.requests import SearchQuery
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService

FOUND = 10
SEED = 5


def items_of(query: Query, hit: Hit) -> set[int]:
    """Return the gold items of which a hit covers half of a span."""
    return {
        number
        for number, item in enumerate(query.gold)
        for span in item.any
        if span.doc_id == hit.uri
        and 2 * (min(hit.end, span.end) - max(hit.start, span.start)) >= span.end - span.start
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("set", type=Path)
    parser.add_argument("index", type=Path)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--shares", type=float, nargs="+", default=[0, 0.4, 0.5, 0.6])
    parser.add_argument("--rerank", action="store_true")
    given = parser.parse_args()
    queries: Sequence[Query] = read_questions(given.set).queries
    if len(queries) > given.questions:
        queries = random.Random(SEED).sample(list(queries), given.questions)
    tokenizer = Tokenizer.from_file(str(find_model("e5@int8") / "tokenizer.json"))
    tokenizer.no_truncation()
    service = SearchService([ServedIndex("set", given.index)])
    rows = {share: [0, 0, 0, 0, 0] for share in given.shares}
    for query in queries:
        request = SearchQuery(query=query.text, k=FOUND, window=0, rerank=given.rerank)
        for share in given.shares:
            hits.RELEVANT_SHARE = share
            found = service.search(request)
            near = [hit for each in found.passages for hit in each.hits if not hit.less_relevant]
            far = [hit for each in found.passages for hit in each.hits if hit.less_relevant]
            answered = set().union(*(items_of(query, hit) for hit in near))
            listed = set().union(*(items_of(query, hit) for hit in far)) - answered
            text = encode_json(as_tool_lines(found)).decode()
            tokens = len(tokenizer.encode(text, add_special_tokens=False))
            added = (tokens, len(near), len(far), len(answered), len(listed))
            rows[share] = [a + b for a, b in zip(rows[share], added, strict=True)]
    print(f"{given.set.name}: {len(queries)} questions")
    print("share  tokens  less relevant  gold listed of gold found")
    for share, (tokens, near, far, answered, listed) in rows.items():
        print(
            f"{share:5.2f}  {tokens / len(queries):6.0f}  {far / max(1, near + far):13.1%}  "
            f"{listed} of {answered + listed}"
        )


if __name__ == "__main__":
    main()
