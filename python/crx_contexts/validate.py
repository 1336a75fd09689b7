"""Validation of a model's answers before they become contexts.

A context is written by a model, from a document that anybody may have written. An answer is tidied
and checked by every rule; the first rule that rejects it gives the reason. The rules prefer the
rejection of a fair context (it is asked for again, then the outline stands alone) to a wrong or
empty one in the index. `tests/data/contexts` has the corpus that they are measured with.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import cached_property

from crx._context.controls import has_controls
from crx._context.outline import Outliner
from crx._services.prompt import FIRMER, Prompt
from crx.types import Chunk, Context, Document
from crx_contexts.vocabulary import (
    DocumentVocabulary,
    is_dense,
    ngrams,
    split_sentences,
    split_units,
)

_BROKEN = frozenset("\ufeff\ufffd")
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

# Reference to the chunk or document as such, in the languages that prompts are tested in.
_CHUNK_REFERENCE = re.compile(
    r"""
    \b(this|the|that|given|provided|above|following)\ (\w+\ ){0,2}
        (chunk|passage|excerpt|snippet|text|section|paragraph|document|documentation|file|page|part
        |context|content|information|sentence|code|article|agreement)s?\b
    | \b(ce|cet|cette|le|la|l['’])\ ?(\w+\ )?(extrait|passage|texte|document|section|partie|page)\b
    | \b(diese\w?|der|das|die)\ (\w+\ )?(abschnitt|text|dokument|auszug|teil)\b
    | [这該该本](一?段|片段|文档|文章|部分|节|章) | (この|本)(文書|部分|文章|節|段落|文)
    | \b(đoạn|phần|văn\ bản|tài\ liệu)\ (\w+\ )?này\b
    """,
    re.VERBOSE | re.IGNORECASE,
)

# Number of a chunk at the start of a line: "[3]", "Chunk 3:".
_LABEL = re.compile(
    r"\W{0,3}(?:\[(\d+)\]|(?:chunk|passage|excerpt|extrait|abschnitt|片段|đoạn)\s*\#?\(?(\d+)\)?)\W*",
    re.IGNORECASE,
)
_BRACKETED = re.compile(r"\[\d+\]")


def is_preamble(text: str) -> bool:
    """Return whether a text opens with words about the answer itself."""
    return _PREAMBLE.match(text) is not None


def is_refusal(text: str) -> bool:
    """Return whether a text opens as a refusal does."""
    return _REFUSAL.match(text) is not None


def mentions_chunk(sentence: str) -> bool:
    """Return whether a sentence is about "this chunk" or "the document" by such words."""
    return _CHUNK_REFERENCE.search(sentence) is not None


def strip_label(text: str, number: int | None) -> str:
    """Return a text without a label of this number at its start."""
    label = _LABEL.match(text)
    return text[label.end() :] if label and int(label[1] or label[2]) == number else text


def names_other_chunk(text: str, document: str) -> bool:
    """Return whether a text has the label of a chunk that is not a label of the document.

    "[3]" is one anywhere, "Chunk 3" at the start.
    """
    label = _LABEL.match(text)
    labels = [label[0].strip()] if label else []
    return any(each not in document for each in (*labels, *_BRACKETED.findall(text)))


# Loops as (words of a run, times that it occurs). Of 3,660 contexts by a large model one has such a
# run; 0.3% have a run of four words twice (names of parties, file paths).
_LOOPS = ((3, 3), (5, 2))
# Han and kana characters of a run for each word.
_CHARACTERS = 2
# Units of a sentence that counts as repeated; shorter ones are labels and list marks.
_SENTENCE_UNITS = 4


def is_repetitive(text: str) -> bool:
    """Return whether a sentence or a long run of words occurs twice, or a short run three times."""
    return _has_repeated_sentence(text) or _has_loop(text)


def _has_repeated_sentence(text: str) -> bool:
    sentences = [tuple(split_units(sentence)) for sentence in split_sentences(text)]
    counted = Counter(units for units in sentences if len(units) >= _SENTENCE_UNITS)
    return max(counted.values(), default=0) > 1


def _has_loop(text: str) -> bool:
    units = split_units(text)
    dense = sum(map(is_dense, units)) * 2 > len(units)
    return any(
        max(Counter(ngrams(units, words * (_CHARACTERS if dense else 1))).values(), default=0)
        >= times
        for words, times in _LOOPS
    )


# About 250 tokens of English. The prompt asks for a short context; the published ones have 50 to
# 100 tokens.
MAX_CHARS = 1000
# Words of a prompt in a row that a context must not contain; characters of Han or kana.
ECHO_WORDS = 5
ECHO_CHARACTERS = 10
# Words of a context that must be specific to its part of the document, and the share of its words
# that must be specific to the document. Of 3,660 contexts by a large model 0.3% have fewer.
MIN_SPECIFIC = 2
MIN_SPECIFIC_SHARE = 0.25
# Specific words of a context that must be in its chunk. Those contexts have 3 and more.
MIN_FROM_CHUNK = 2
# Chunks of a document, of different texts, that one context may be written for.
MAX_SHARED = 3

Rule = Callable[[str, Chunk], bool]

_THOUGHT = re.compile(r"<(think|thinking|thought)>.*?</\1>", re.DOTALL)
_OPEN_THOUGHT = re.compile(r"</?(think|thinking|thought)>")
_WRAP = re.compile(r"^<(context|chunk_context|answer)>\s*(.*?)\s*</\1>$", re.DOTALL)
# A point ends a sentence before a blank; a point inside a number or a name does not.
_SENTENCE_END = re.compile(
    r"""
    .* (?: [。！？…] [\"'”’»)\]]* | [.!?] [\"'”’»)\]]* (?=\s)
         | (?: [!?] | (?<!\d) \. ) [\"'”’»)\]]* $ )
    """,
    re.DOTALL | re.VERBOSE,
)


def _is_unreadable(text: str) -> bool:
    """Return whether a text has signs of broken UTF-8, private or unassigned characters."""
    return any(c in _BROKEN or unicodedata.category(c) in ("Co", "Cn") for c in text)


class ContextValidator:
    """Rules for the contexts of one document.

    It records the contexts that it accepts, so that one text is not accepted for many chunks.
    """

    def __init__(
        self, document: Document, *, prompt: Prompt | None = None, max_chars: int = MAX_CHARS
    ) -> None:
        self._document = document
        self._prompt = prompt or Prompt.of()
        self._max_chars = max_chars
        known = f"{document.title}\n{document.text}\n{self._prompt.glossary}"
        self._vocabulary = DocumentVocabulary(known)
        self._outliner = Outliner(document)
        self._chunks_of: dict[str, set[str]] = {}
        self._rules: tuple[tuple[str, Rule], ...] = (
            # Before the rules that read every character: an answer may be a megabyte.
            ("over length", lambda text, _: len(text) > self._max_chars),
            ("empty", lambda text, _: not any(c.isalnum() for c in text)),
            ("control characters", lambda text, _: has_controls(text) or _is_unreadable(text)),
            ("thinking", lambda text, _: _OPEN_THOUGHT.search(text) is not None),
            ("refusal", lambda text, _: is_refusal(text)),
            ("preamble", lambda text, _: is_preamble(text)),
            ("other chunk", lambda text, _: names_other_chunk(text, self._document.text)),
            ("prompt echoed", lambda text, _: self._echoes_prompt(text)),
            ("repetition", lambda text, _: is_repetitive(text)),
            ("copied chunk", lambda text, chunk: _is_copied(text, chunk.text)),
            ("wrong script", lambda text, _: self._vocabulary.is_foreign(text)),
            ("unknown number", lambda text, _: any(self._vocabulary.unknown_numbers(text))),
            ("unknown name", lambda text, _: any(self._vocabulary.unknown_names(text))),
            ("no content", self._lacks_content),
            ("other topic", _is_on_other_topic),
            ("same text", self._is_shared),
        )

    def validate(
        self, answer: str, *, chunk: Chunk, finished: bool = True, number: int | None = None
    ) -> Context:
        """Return the tidied answer as an accepted context, or a rejected one with the reason.

        `finished` is False if the model was stopped at its token limit: the text after the last
        complete sentence is dropped. `number` is that of the chunk in its prompt, if it has one: a
        label of this number is removed from the answer, and any other one is rejected.
        """
        # An answer that is far too long remains so when it is cut, and is cheaper to reject.
        text = strip_label(tidy(answer[: 20 * self._max_chars]), number)
        if not finished:
            complete = _SENTENCE_END.match(text)
            if complete is None:
                return Context.rejected("over length" if text else "empty")
            text = complete[0]
        for reason, rejects in self._rules:
            if rejects(text, chunk):
                return Context.rejected(reason)
        self._chunks_of.setdefault(_normalize(text), set()).add(chunk.text)
        return Context(text)

    def _echoes_prompt(self, text: str) -> bool:
        """Return whether the text has a run of the prompt's words that the document lacks."""
        runs = _runs(split_units(text))
        echoed = self._prompt_runs.intersection(runs)
        return bool(echoed) and not echoed <= self._document_runs

    @cached_property
    def _prompt_runs(self) -> set[tuple[str, ...]]:
        parts = (*(text for text, _ in self._prompt.parts), FIRMER)
        return {run for part in parts for run in _runs(split_units(part))}

    @cached_property
    def _document_runs(self) -> set[tuple[str, ...]]:
        return self._prompt_runs.intersection(_runs(split_units(self._document.text)))

    def _lacks_content(self, text: str, chunk: Chunk) -> bool:
        """Return whether the text, or a sentence about "this chunk", has too few specific words."""
        outline = self._outliner.outline(chunk)
        if len(self._vocabulary.specific_words(text, outline=outline)) < MIN_SPECIFIC:
            return True
        if self._vocabulary.specific_share(text) < MIN_SPECIFIC_SHARE:
            return True
        return any(
            len(self._vocabulary.specific_words(sentence, outline=outline)) < min(1, MIN_SPECIFIC)
            for sentence in split_sentences(text)
            if mentions_chunk(sentence)
        )

    def _is_shared(self, text: str, chunk: Chunk) -> bool:
        """Return whether the text was accepted for `MAX_SHARED` chunks of other texts."""
        return len(self._chunks_of.get(_normalize(text), set()) - {chunk.text}) >= MAX_SHARED


def tidy(answer: str) -> str:
    """Strip finished thoughts, a tag or quotes around the whole, and white space at line ends."""
    text = _THOUGHT.sub("", answer).strip()
    wrapped = _WRAP.match(text)
    text = wrapped[2] if wrapped else text
    for left, right in ('""', "“”", "«»"):
        if len(text) > 1 and text[0] == left and text.find(right, 1) == len(text) - 1:
            text = text[1:-1].strip()
    return re.sub(r"[ \t]*\r?\n\s*", "\n", text)


def _is_on_other_topic(text: str, chunk: Chunk) -> bool:
    """Return whether the text has too few specific words of the chunk, as far as it has any."""
    vocabulary = DocumentVocabulary(chunk.text)
    wanted = min(MIN_FROM_CHUNK, len(vocabulary.specific_words(chunk.text)))
    return len(vocabulary.specific_words(text)) < wanted


def _is_copied(text: str, chunk: str) -> bool:
    """Return whether 7 of 10 of the text's runs of 16 characters occur in the chunk."""
    written, source = (" ".join(t.casefold().split()) for t in (text, chunk))
    runs = {written[i : i + 16] for i in range(len(written) - 15)}
    return 10 * sum(run in source for run in runs) > 7 * len(runs)


def _runs(units: list[str]) -> list[tuple[str, ...]]:
    """Return the runs of words that count as an echo; longer ones of Han and kana."""
    return [run for run in ngrams(units, ECHO_WORDS) if not all(map(is_dense, run))] + [
        run for run in ngrams(units, ECHO_CHARACTERS) if all(map(is_dense, run))
    ]


def _normalize(text: str) -> str:
    return " ".join(split_units(text))
