"""Build crx's reranker from its questions: download, mine pairs, train, export.

    pip install torch transformers
    python models/reranker/make.py --start FOLDER --work DIR

FOLDER is the folder of all-MiniLM-L6-v2 saved by sentence-transformers. DIR is for the downloaded
packages (170 MB), the pairs and the trained weights. A step whose result exists is skipped.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path

from export import export
from pairs import mine_examples
from sources import fetch
from train import SEED, Recipe, train

SHIPPED = Path(__file__).parents[2] / "python" / "crx" / "shipped"


def main() -> None:
    parser = argparse.ArgumentParser(description="build crx's reranker")
    parser.add_argument("--start", type=Path, required=True, help="folder of MiniLM weights")
    parser.add_argument("--work", type=Path, required=True, help="folder of intermediate results")
    parser.add_argument("--ship", action="store_true", help="replace the model in the repository")
    parser.add_argument("--epochs", type=float, default=1.5)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    pairs, trained = given.work / "pairs.jsonl", given.work / "trained"
    fetch(given.work / "packages")
    if not pairs.exists():
        with write_atomically(pairs) as temporary:
            mine_examples(given.work / "packages", temporary)
    if not trained.exists():
        with write_atomically(trained) as temporary:
            train(pairs, given.start, temporary, epochs=given.epochs, seed=SEED, recipe=Recipe())
    card = export(trained, into=SHIPPED if given.ship else None)
    print(f"{card.name}: in the store")


@contextlib.contextmanager
def write_atomically(path: Path) -> Iterator[Path]:
    """Yield a temporary path that is renamed to `path` at the end, if there was no error."""
    temporary = path.with_name(f"{path.name}.part")
    yield temporary
    temporary.rename(path)


if __name__ == "__main__":
    main()
