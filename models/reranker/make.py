"""Make crx's own reranker from its questions: fetch, pair, train, export.

    pip install torch transformers
    python models/reranker/make.py --start FOLDER --work DIR

FOLDER holds the weights of all-MiniLM-L6-v2 as sentence-transformers saves them; DIR takes the
fetched packages (170 MB), the pairs and the trained weights. A step whose result is there is not
done again.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path

from export import export
from pairs import mine
from sources import fetch
from train import SEED, Recipe, train

SHIPPED = Path(__file__).parents[2] / "python" / "crx" / "shipped"


def main() -> None:
    parser = argparse.ArgumentParser(description="make crx's own reranker")
    parser.add_argument("--start", type=Path, required=True, help="a folder of MiniLM weights")
    parser.add_argument("--work", type=Path, required=True, help="where what is made is kept")
    parser.add_argument(
        "--ship", action="store_true", help="replace the one in the repository: once a release"
    )
    parser.add_argument("--epochs", type=float, default=1.5)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    pairs, trained = given.work / "pairs.jsonl", given.work / "trained"
    fetch(given.work / "packages")
    if not pairs.exists():
        with whole(pairs) as aside:
            mine(given.work / "packages", aside)
    if not trained.exists():
        with whole(trained) as aside:
            train(pairs, given.start, aside, epochs=given.epochs, seed=SEED, recipe=Recipe())
    card = export(trained, into=SHIPPED if given.ship else None)
    print(f"{card.name}: in the store")


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield a place to write to, renamed at the end: a step that was cut short is done again."""
    aside = path.with_name(f"{path.name}.part")
    yield aside
    aside.rename(path)


if __name__ == "__main__":
    main()
