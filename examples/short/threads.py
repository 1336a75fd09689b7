"""Four threads that add documents to one index, and search it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import crx

TEXTS = ["Whales eat krill.", "Bread is baked with steam.", "The tide turns at six.", "Ink dries."]


def add(index: crx.Index, number: int) -> int:
    index.add_documents([crx.Document(f"text:{number}", TEXTS[number])])
    return len(index.search(TEXTS[number]))


with TemporaryDirectory() as folder, crx.open(Path(folder) / "texts.crx") as index:
    with ThreadPoolExecutor(4) as pool:
        print(all(pool.map(add, [index] * 4, range(4))))
    print(sorted(document.uri for document in index.documents()))
