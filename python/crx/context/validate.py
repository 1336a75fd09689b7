"""Validation of a model's answers before they become contexts.

A context is written by a model that read a document anybody may have written. It is tidied, then
every rule has a say, and the first that objects gives the reason. The rules would sooner turn
away a fair context (it is asked for again, then the outline does without it) than let a wrong one
into the index: of 3,625 contexts that a large model wrote for 134 source files and contracts, 97%
pass beside their own document and 9% beside another of the same set.
"""

from __future__ import annotations

import bisect
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable

from crx.types import Context, Document

# About 250 tokens of English. The prompt asks for a short context; the published ones have 50 to
# 100 tokens.
MAX_CHARS = 1000

# German prose capitalises a third of its words, English prose an eighth.
FREE_CAPITALS = 0.3

Rule = Callable[[str, str], bool]

_THOUGHT = re.compile(r"<(think|thinking|thought)>.*?</\1>", re.DOTALL)
_OPEN_THOUGHT = re.compile(r"</?(think|thinking|thought)>")
_WRAP = re.compile(r"^<(context|chunk_context|answer)>\s*(.*?)\s*</\1>$", re.DOTALL)
# A point ends a sentence where a blank follows; a number's or a name's own does not.
_SENTENCE_END = re.compile(
    r"""
    .* (?: [。！？…] [\"'”’»)\]]* | [.!?] [\"'”’»)\]]* (?=\s)
         | (?: [!?] | (?<!\d) \. ) [\"'”’»)\]]* $ )
    """,
    re.DOTALL | re.VERBOSE,
)

_PREAMBLE = re.compile(
    r"""
    (here\ (is|are)|here's|this\ is|below\ is|following\ is)\ (a|an|the|my|your|some)\b[^.:]{0,60}
        \b(context|summary|description|answer|response)\b
    | (the\ )?(succinct\ |short\ |brief\ )*(context|answer|summary)\ ?(is\b|:)
    | (sure|certainly|of\ course|absolutely|okay|ok|understood)\b\ ?[,!.:]
    | (voici|ci-dessous)\b[^.:]{0,60}\b(contexte|résumé)\b | bien\ sûr\b | contexte\ ?:
    | 以下是 | 好的[，,。！] | 当然[，,。！] | 上下文[：:]
    | 以下は | 以下に | はい[、。] | もちろん | 文脈[：:]
    | (dưới\ đây|sau\ đây|đây)\ là\b[^.:]{0,60}\b(ngữ\ cảnh|bối\ cảnh|tóm\ tắt)\b
    | chắc\ chắn\ rồi | ngữ\ cảnh\ ?:
    """,
    re.VERBOSE | re.IGNORECASE,
)

_REFUSAL = re.compile(
    r"""
    (i['’]m|i\ am)\ (sorry|unable|not\ able|afraid) | sorry\b[,.]
    | (unfortunately[, ]+)?i\ (cannot|can['’]t|could\ not|couldn['’]t|won['’]t|do\ not|don['’]t)\b
    | as\ an?\ (ai|artificial|language\ model|assistant)
    | (please|could\ you)\ provide\b
    | no\ (context|document|chunk)\ (was|is|has\ been)\ (provided|given)
    | je\ (ne\ peux\ pas|suis\ désolée?) | désolée?\b | en\ tant\ qu['’](ia|assistant)
    | (很)?抱歉 | 对不起 | 我(无法|不能) | 作为(一个)?(ai|人工智能)
    | 申し訳 | すみません | お答えできません
    | (tôi\ )?(rất\ )?xin\ lỗi | tôi\ (không\ thể|rất\ tiếc)
    """,
    re.VERBOSE | re.IGNORECASE,
)

_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d+(?:[.,\u00a0\u202f’']\d+)*")
_BEGINS = ("", *".!?:;\n。！？：")
_NOT_DIGIT = re.compile(r"\D")

# Names a context may bring along: what documents consist of, are written in and dated by.
_COMMON_NAMES = frozenset(
    """
    annex appendix article chapter clause exhibit figure form item note paragraph part schedule
    section table volume chapitre annexe tableau partie chương phần điều mục phụ lục bảng
    english french chinese japanese vietnamese german
    ascii css html java javascript json kotlin python ruby rust scala sql swift toml typescript
    unicode xml yaml
    january february march april may june july august september october november december
    """.split()  # noqa: SIM905
)

# A Han character or a Hangul syllable says about as much as three letters.
_DENSE = {"CJK": 3, "HANGUL": 3}


class ContextValidator:
    """What one document allows its contexts to say."""

    def __init__(
        self, document: Document, *, glossary: str = "", max_chars: int = MAX_CHARS
    ) -> None:
        known = f"{document.title}\n{document.text}\n{glossary}"
        self._max_chars = max_chars
        words = _WORD.findall(known)
        self._words = _COMMON_NAMES | {w.casefold() for w in words}
        self._initials = "".join(w[0] for w in words if w[0].isupper())
        self._sorted = sorted(self._words)
        self._numbers = {_digits(n) for n in _NUMBER.findall(known)}
        self._scripts = _scripts(known)
        self._names_tell = _share_capitalised(known) < FREE_CAPITALS
        self._rules: tuple[tuple[str, Rule], ...] = (
            # Before the rules that read every character: an answer may be a megabyte.
            ("over length", lambda text, _: len(text) > self._max_chars),
            ("empty", _empty),
            ("control characters", _control),
            ("thinking", lambda text, _: _OPEN_THOUGHT.search(text) is not None),
            ("refusal", lambda text, _: _REFUSAL.match(text) is not None),
            ("preamble", lambda text, _: _PREAMBLE.match(text) is not None),
            ("copied chunk", _copied),
            ("wrong script", lambda text, _: self._foreign(text)),
            ("unknown number", lambda text, _: any(self._unknown_numbers(text))),
            ("unknown name", lambda text, _: any(self._unknown_names(text))),
        )

    def validate(self, answer: str, *, chunk: str, finished: bool = True) -> Context:
        """Return the tidied answer with "ok", or no text with "rejected:<why>".

        `finished` is False where the model was stopped at its limit: what follows the last whole
        sentence is dropped.
        """
        # What is far too long stays so when cut, and costs no more to turn away.
        text = tidy(answer[: 20 * self._max_chars])
        if not finished:
            whole = _SENTENCE_END.match(text)
            if whole is None:
                return Context.rejected("over length" if text else "empty")
            text = whole[0]
        for why, objects in self._rules:
            if objects(text, chunk):
                return Context.rejected(why)
        return Context(text)

    def _foreign(self, text: str) -> bool:
        """Is the text mainly in a script that makes up less than a quarter of the document?"""
        main = max(_scripts(text).items(), key=lambda item: item[1], default=None)
        return main is not None and self._scripts[main[0]] * 4 < sum(self._scripts.values())

    def _unknown_numbers(self, text: str) -> Iterable[str]:
        """Numbers that the document does not hold, of two digits or more: one digit counts."""
        numbers = (_digits(n) for n in _NUMBER.findall(text))
        return (n for n in numbers if len(n) > 1 and n not in self._numbers)

    def _unknown_names(self, text: str) -> Iterable[str]:
        """Capitalised words inside a sentence that the document does not hold in any form.

        Says nothing where the document capitalises words freely (German, legal English).
        """
        if not self._names_tell:
            return
        for name in _inner_capitalised(text):
            if not self._holds(name.casefold()) and name not in self._initials:
                yield name

    def _holds(self, word: str) -> bool:
        """Does the document hold the word, or one that differs in its last letters?"""
        if {word, word.removesuffix("s")} & self._words:
            return True
        if len(word) < 4:
            return False
        stem = word[: max(4, len(word) - 3)]
        at = bisect.bisect_left(self._sorted, stem)
        return at < len(self._sorted) and self._sorted[at].startswith(stem)


def tidy(answer: str) -> str:
    """Strip finished thoughts, a tag or quotes around the whole, and white space at line ends."""
    text = _THOUGHT.sub("", answer).strip()
    wrapped = _WRAP.match(text)
    text = wrapped[2] if wrapped else text
    for left, right in ('""', "“”", "«»"):
        if len(text) > 1 and text[0] == left and text.find(right, 1) == len(text) - 1:
            text = text[1:-1].strip()
    return re.sub(r"[ \t]*\r?\n\s*", "\n", text)


def _empty(text: str, _: str) -> bool:
    return not any(c.isalnum() for c in text)


def _control(text: str, _: str) -> bool:
    """Control characters, bidi controls, surrogates, tags, and the trace of broken UTF-8."""
    return any(
        (unicodedata.category(c) in ("Cc", "Cs", "Co", "Cn") and c not in "\n\t")
        or c
        in "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\ufffd"
        or 0xE0000 <= ord(c) <= 0xE007F
        for c in text
    )


def _copied(text: str, chunk: str) -> bool:
    """Do 7 of 10 of the text's runs of 16 characters stand in the chunk?"""
    told, source = (" ".join(t.casefold().split()) for t in (text, chunk))
    runs = {told[i : i + 16] for i in range(len(told) - 15)}
    return 10 * sum(run in source for run in runs) > 7 * len(runs)


def _digits(number: str) -> str:
    return _NOT_DIGIT.sub("", unicodedata.normalize("NFKC", number))


def _scripts(text: str) -> Counter[str]:
    """Weigh letters by script; Han and kana are one, since Japanese mixes them."""
    scripts: Counter[str] = Counter()
    for letter, count in Counter(c for c in text if c.isalpha()).items():
        script = unicodedata.name(letter, "UNKNOWN").split(maxsplit=1)[0]
        script = "CJK" if script.startswith(("HIRAGANA", "KATAKANA")) else script
        scripts[script] += count * _DENSE.get(script, 1)
    return scripts


def _inner_capitalised(text: str) -> Iterable[str]:
    """Words of three letters or more that begin with a capital where no sentence does."""
    for found in _WORD.finditer(text):
        before = text[: found.start()].rstrip(" \"'“”‘’«»([")
        if found[0][0].isupper() and len(found[0]) > 2 and before[-1:] not in _BEGINS:
            yield found[0]


def _share_capitalised(text: str) -> float:
    words = _WORD.findall(text[:20_000])
    return sum(w[0].isupper() for w in words) / len(words) if words else 0.0
