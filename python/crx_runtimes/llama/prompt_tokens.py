"""Tokens of prompts, in which only the chat template can add control tokens, and answer text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence

from crx_runtimes.llama.chat_template import ChatTemplate
from crx_runtimes.llama.model import LlamaModel


class PromptTokenizer:
    """A tokenizer of prompts inside a model's chat template."""

    def __init__(self, model: LlamaModel, template: ChatTemplate) -> None:
        self._model = model
        head = model.tokenize(template.head, special=True)
        self._head = head if template.includes_bos else model.bos_tokens + head
        self._tail = model.tokenize(template.tail, special=True)
        # Some files declare the tokens of their template, or those of tool calls, as ordinary
        # text. They are split in two in all other texts, so that no document can contain one.
        special = {model.token_text(t) for t in head + self._tail if not model.is_plain(t)}
        words = sorted(word for word in special | model.tags() if len(word) > 1)
        cuts = (f"(?<={re.escape(word[:1])})(?={re.escape(word[1:])})" for word in words)
        self._cut = re.compile("|".join(cuts) or "(?!)")

    def prefix(self, text: str) -> list[int]:
        """Return the template's head and the tokens of a text."""
        return self._head + self.plain(text)

    def suffix(self, text: str) -> list[int]:
        """Return the tokens of a text and the template's tail."""
        return self.plain(text) + self._tail

    def plain(self, text: str) -> list[int]:
        """Return the tokens of an untrusted text, none of them a control token."""
        return [t for piece in self._cut.split(text) for t in self._model.tokenize(piece)]


class StreamingDecoder:
    """The text of an answer as it is decoded, in whole characters."""

    def __init__(self, model: LlamaModel) -> None:
        self._model = model
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._n_decoded = 0

    def decode(self, tokens: Sequence[int], *, final: bool = False) -> str:
        """Return the text of an answer's tokens that earlier calls have not returned."""
        raw = self._model.raw(tokens[self._n_decoded :])
        self._n_decoded = len(tokens)
        return self._decoder.decode(raw, final)
