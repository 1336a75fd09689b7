"""Phrases of answers that are not contexts: preambles, refusals, labels, talk of the chunk."""

from __future__ import annotations

import re

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
