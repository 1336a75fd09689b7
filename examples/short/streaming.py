"""Messages that arrive one by one, each found by its words as soon as it is there."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import crx


def arriving() -> Iterator[crx.Document]:
    for printer in ("north", "south", "east"):
        yield crx.Document(f"message:{printer}", f"The {printer} printer hangs on A3.")


with TemporaryDirectory() as folder, crx.open(Path(folder) / "messages.crx") as index:
    for message in arriving():
        index.add_documents([message], words_only=True)
        print([passage.uri for passage in index.search("printer hangs")])
    print(index.embed().pending, "chunks without a vector")
