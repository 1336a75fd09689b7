"""Contexts from an instruct model in a GGUF file, through llama.cpp, on this machine: `llama:PATH`.

PATH may also be the name of a model of the store. The prompt puts the document first. Its tokens
are computed once and shared by all chunks of the document, and the contexts of several chunks are
decoded together (`session`), in a child process (`child`) that is restarted when it is lost
(`crx_runtimes.model_process`). A document longer than the token limit is not truncated: its
chunks are grouped, and each group gets an excerpt.

Decoding is greedy, but for tokens that would continue a loop (`loops`). A chunk whose answer is
rejected is asked for once more, with a firmer instruction.
"""

from __future__ import annotations

import contextlib
import copy
import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from crx._backends.options import refuse_cap, typed_options
from crx._models.store import find_gguf_file
from crx._services.compute_usage import ComputeUsage
from crx._services.prompt import Prompt
from crx.errors import ModelError
from crx.thread_count import thread_count
from crx.types import Chunk, Context, Document
from crx.workers.child import child_command
from crx.workers.messages import ChildLost, Message
from crx_contexts.chunk_groups import (
    GROUP_ANSWER_TOKENS,
    GROUPS_TOGETHER,
    TOKENS_PER_GROUP,
    USUAL_DIGEST_CHARS,
    GroupContextualizer,
    GroupPrompt,
    LineCounts,
)
from crx_contexts.chunk_prompt import Answers, ChunkPrompt, restore_order
from crx_contexts.excerpts import Excerpt, excerpts
from crx_contexts.reasoning import strip_reasoning
from crx_contexts.validate import ContextValidator
from crx_runtimes.llama.chat_template import PLAIN
from crx_runtimes.llama.model_file import check_model_file, file_digest
from crx_runtimes.llama.options import OPTION_TYPES, LlamaOptions, make_options
from crx_runtimes.model_process import ModelProcess
from crx_runtimes.pace import PromptLengths, estimate_seconds

# Part of the fingerprint: raised when the same file and prompt may give another text.
REVISION = 4

# Tokens of a prompt without a GPU, unless set. The time for a token grows with the tokens before
# it: a long document takes nearly three times as long in prompts of 32,000 tokens (by the measured
# costs of a model of 135M parameters).
CPU_TOKEN_LIMIT = 8192

# Chunks that are decoded together behind one document, unless set.
CHUNKS_TOGETHER = 16

# Threads that spin as long as they wait are up to 14 times slower beside other programs than
# threads that sleep at once (two threads on two busy cores). Alone, those take three times as long.
# 300 spins before they sleep (libgomp) are fast in both cases: a step of one token of SmolLM2-135M
# takes 10 ms alone, and 28 without spins; beside two busy programs 20, and 17 to 57.
_ENV = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "300"}

# Tokens of the prompt and the answer of most groups.
USUAL_GROUP_TOKENS = TOKENS_PER_GROUP * 5 // 4 + GROUP_ANSWER_TOKENS

COMMAND = child_command("crx_runtimes.llama.child")


class Llama:
    """A contextualizer over a GGUF file, whose model is loaded when it is created.

    Raises `ModelError` if the file, the package or the chat template cannot be used.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        prompt: Prompt | None = None,
        settings: LlamaOptions | None = None,
    ) -> None:
        self._path = find_gguf_file(path)
        self._prompt = prompt or Prompt.of()
        self._settings = settings or LlamaOptions()
        self._line_counts = LineCounts()
        if self._settings.prompt == "window":
            GroupPrompt.beside(self._prompt, source="llama")
        self.notes: tuple[str, ...] = ()
        check_model_file(self._path)
        if importlib.util.find_spec("llama_cpp") is None:
            raise ModelError('llama: the package is not installed; pip install "crx[llama]"')
        self._start()

    @property
    def fingerprint(self) -> str:
        """The file, the prompt, the chat template and every setting that changes the text.

        The number of chunks decoded together is left out. It changes sums in their last bits (with
        Q8_0 weights a logit by up to 0.1) and so may decide a near tie between two tokens; but so
        does the position of a chunk's cells in memory, which no setting controls. Equal
        fingerprints mean equally good texts, not equal ones.
        """
        s = self._settings
        groups = self._groups
        prompt = f"window:{groups.prompt.hash}" if groups else self._prompt.hash
        return (
            f"llama:{file_digest(self._path)} prompt={prompt} frame={self._template}"
            f" kv={s.kv} window={s.token_limit} max_tokens={s.max_tokens} revision={REVISION}"
        )

    @property
    def usage(self) -> ComputeUsage:
        """The computation so far."""
        return self._process.usage

    @property
    def width(self) -> int:
        """The number of documents whose contexts are written at the same time."""
        return self._slots if self._settings.prompt == "window" else 1

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        """Yield one context per chunk, in order; "failed" if the model gave no answer."""
        return restore_order(self._situate(document, chunks))

    def situate_many(
        self, documents: Sequence[tuple[Document, Sequence[Chunk]]]
    ) -> Iterator[tuple[int, int, Context]]:
        """Yield (document's position, chunk's position, context) as they arrive.

        Documents are in order, but in groups; a chunk that is asked for a second time comes later.
        """
        if groups := self._groups:
            yield from groups.situate_many(documents)
            return
        for at, (document, chunks) in enumerate(documents):
            with contextlib.closing(self._situate(document, chunks)) as contexts:
                for number, context in contexts:
                    yield at, number, context

    def estimate_seconds(
        self, documents: Iterable[tuple[Document, Sequence[Chunk]]], *, asks: float
    ) -> float:
        """Return the seconds for the contexts of these chunks, at the pace so far.

        `asks` is the average number of requests a chunk, 1 to 2. For groups the number of second
        tries follows from the lines so far.
        """
        listed = list(documents)
        lines = self.usage.answers
        if self._groups:
            chunks = sum(len(chunks) for _, chunks in listed)
            tries = self._line_counts.estimate_second_tries(chunks)
            lines, asks = self._line_counts.lines, 1 + tries / max(1, chunks)
        prompts = [
            lengths
            for document, chunks in listed
            for lengths in self._prompt_lengths(document, chunks, asks=asks)
        ]
        return estimate_seconds(
            self.usage,
            prompts,
            asks=1 if self._groups else asks,
            lines=lines,
            slots=self._slots,
            step_tokens=self._step_tokens,
            together=bool(self._groups),
        )

    def with_prompt(self, prompt: Prompt) -> Llama:
        """Return a contextualizer with another prompt that shares the child process."""
        if self._settings.prompt == "window":
            GroupPrompt.beside(prompt, source="llama")
        other = copy.copy(self)
        other._prompt = prompt
        return other

    def stream_answer(self, prefix: str, text: str) -> Iterator[str]:
        """Yield the answer to a prompt without its reasoning; see `ModelProcess.stream_answer`."""
        pieces = self._process.stream_answer(prefix, text)
        yield from strip_reasoning(pieces, starts_inside=self._starts_in_reasoning)

    def close(self) -> None:
        """End the child process; the next call starts it again."""
        self._process.close()

    def __enter__(self) -> Llama:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _groups(self) -> GroupContextualizer | None:
        """The contextualizer of `prompt=window`, None with one prompt a chunk."""
        if self._settings.prompt != "window":
            return None
        prompt = GroupPrompt.beside(self._prompt, source="llama")
        # As many prompts wait as are decoded, so that a slot takes the next one at once.
        ask = partial(self._process.situate, "")
        return GroupContextualizer(ask, prompt, self._count, self._line_counts, 2 * self._slots)

    def _start(self) -> None:
        """Load the model; if the processor's own weight layouts crash it, load it without them."""
        for extra_buffers in (True, False):
            opening: Message = {
                **asdict(self._settings),
                "path": str(self._path),
                "threads": self._settings.threads or thread_count(),
                "extra_buffers": extra_buffers,
                "max_tokens": self._answer_tokens,
                "usual_tokens": USUAL_GROUP_TOKENS,
                "slots": self._wanted_slots,
            }
            self._process = ModelProcess(
                COMMAND, opening, timeout_s=self._settings.timeout_s, env=_ENV
            )
            try:
                ready = self._process.start()
            except ChildLost as lost:
                self.notes = (f"without the processor's own weight layouts: llama.cpp {lost}",)
                continue
            except ModelError as error:
                raise ModelError(f"{self._path}: {error}") from None
            self._template = str(ready["template"])
            self._starts_in_reasoning = bool(ready["starts_in_reasoning"])
            if self._starts_in_reasoning and self._settings.prompt == "window":
                self.close()
                raise ModelError(
                    f"{self._path}: prompt=window leaves no room for this model's reasoning; leave"
                    " it out"
                )
            self._head, self._tail = int(ready["head"]), int(ready["tail"])
            self._token_limit = int(ready["token_limit"])
            self._slots, self._step_tokens = int(ready["slots"]), int(ready["step_tokens"])
            self._shares = bool(ready["shares"])
            self._default_limit = self._token_limit if ready["gpu"] else CPU_TOKEN_LIMIT
            if self._template == PLAIN.name:
                self.notes += ("no chat template in the file; use an instruct model",)
            if not self._shares:
                self.notes += ("this kind of model computes the document anew for every chunk",)
            return
        raise ModelError(f"{self._path}: {self.notes[0].partition(': ')[2]}; try another build")

    @property
    def _wanted_slots(self) -> int:
        in_groups = self._settings.prompt == "window"
        return self._settings.slots or (GROUPS_TOGETHER if in_groups else CHUNKS_TOGETHER)

    @property
    def _answer_tokens(self) -> int:
        in_groups = self._settings.prompt == "window"
        return GROUP_ANSWER_TOKENS if in_groups else self._settings.max_tokens

    def _situate(self, document: Document, chunks: Sequence[Chunk]) -> Answers:
        if not chunks:
            return
        if groups := self._groups:
            yield from groups.situate(document, chunks)
            return
        validator = ContextValidator(document, prompt=self._prompt)
        for excerpt in self._excerpts(document, chunks):
            prefix = self._prompt.prefix(excerpt.text)
            group = chunks[excerpt.first : excerpt.last]
            prompts = [self._chunk_prompt(chunk, validator) for chunk in group]
            with contextlib.closing(self._process.situate(prefix, prompts)) as contexts:
                for number, context in contexts:
                    yield excerpt.first + number, context

    def _chunk_prompt(self, chunk: Chunk, validator: ContextValidator) -> ChunkPrompt:
        opened = "<think>" if self._starts_in_reasoning else ""  # it is in the template

        def validate(answer: str, finished: bool) -> Context:  # noqa: FBT001
            return validator.validate(opened + answer, chunk=chunk, finished=finished)

        suffix = self._prompt.suffix(chunk.text)
        return ChunkPrompt(suffix, self._prompt.suffix(chunk.text, firmer=True), validate)

    def _excerpts(self, document: Document, chunks: Sequence[Chunk]) -> list[Excerpt]:
        """Return the whole document for all chunks if it fits, else an excerpt for each group."""
        if not chunks:
            return []
        empty = self._prompt.prefix("")
        firmer = [self._prompt.suffix(c.text, firmer=True) for c in chunks]
        text, template, *suffixes = self._count([document.text, empty, *firmer])
        taken = template + max(suffixes) + self._head + self._tail + self._settings.max_tokens
        limit = min(self._token_limit, self._settings.token_limit or self._default_limit)
        budget = limit - taken
        if text <= budget:
            return [Excerpt(document.text, 0, len(chunks))]
        return excerpts(document, chunks, budget=budget, count=self._count)

    def _prompt_lengths(
        self, document: Document, chunks: Sequence[Chunk], *, asks: float
    ) -> Iterator[PromptLengths]:
        """Yield the lengths of the prompts of these chunks.

        Those of groups include the prompts of chunks that are asked for a second time.
        """
        if groups := self._groups:
            yield from self._group_lengths(groups, document, chunks, asks=asks)
            return
        for excerpt in self._excerpts(document, chunks):
            group = chunks[excerpt.first : excerpt.last]
            texts = [self._prompt.suffix(chunk.text) for chunk in group]
            prefix, *suffixes = self._count([self._prompt.prefix(excerpt.text), *texts])
            prefix += self._head
            shared = prefix if self._shares else 0
            yield PromptLengths(
                shared, [prefix - shared + suffix + self._tail for suffix in suffixes]
            )

    def _group_lengths(
        self,
        groups: GroupContextualizer,
        document: Document,
        chunks: Sequence[Chunk],
        *,
        asks: float,
    ) -> Iterator[PromptLengths]:
        """Yield the lengths of the prompt of a document's digest, and of those of its groups."""
        if not chunks:
            return
        grouped = [chunks[at.start : at.stop] for at in groups.groups(chunks)]
        again = chunks[: round((asks - 1) * len(chunks))]
        digests = round(self._line_counts.digests_a_document)
        prefix = groups.prompt.lines.prefix(document.text[:USUAL_DIGEST_CHARS])
        texts = ["".join(groups.digest_prompt(document, chunks[0]))] * digests
        texts += [prefix + groups.group_text(group) for group in grouped]
        texts += [prefix + groups.line_text(chunk) for chunk in again]
        lines = [1] * digests + [*map(len, grouped)] + [1 for _ in again]
        begin, *ends = self._count([prefix, *texts])
        frame = self._head + self._tail
        # Each slot computes the prefix of the document once.
        alone = digests + min(self._slots, len(grouped)) if self._shares else len(ends)
        whole, alike = ends[:alone], ends[alone:]
        yield PromptLengths(0, [frame + length for length in whole], lines[:alone])
        if alike:
            suffixes = [length - begin + self._tail for length in alike]
            yield PromptLengths(begin + self._head, suffixes, lines[alone:])

    def _count(self, texts: Sequence[str]) -> list[int]:
        reply = self._process.call({"op": "count", "texts": list(texts)}, reply_op="counted")
        return [int(n) for n in reply["tokens"]]


def load_contextualizer(rest: str, *, prompt: Prompt | None, cap_dollars: float) -> Llama:
    """Return the contextualizer of `llama:REST`."""
    refuse_cap("llama:", cap_dollars)
    path, options = typed_options(rest, OPTION_TYPES)
    return Llama(path, prompt=prompt, settings=make_options(options))
