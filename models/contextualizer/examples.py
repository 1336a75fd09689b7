"""Step 1: prompts and answers as tokens, from documents whose contexts are known.

Prompts are those of `prompt=window`, made by crx itself: that for a document's digest and that for
the lines of each group. Tokens are those of llama.cpp.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from crx._context.outline import Outliner
from crx.ingest.read import read_bytes
from crx.ingest.split import sections_at
from crx.types import Chunk, Document
from crx_contexts.chunk_groups import LINE_CHARS, GroupContextualizer, GroupPrompt
from crx_contexts.vocabulary import DocumentVocabulary
from crx_runtimes.llama.chat_template import read_template
from crx_runtimes.llama.model import LlamaModel, NativeLog
from crx_runtimes.llama.prompt_tokens import PromptTokenizer

# One document of so many is held out.
HELD_OUT_OF = 10

_CLAUSES = re.compile(r"(?<=[,;:]) ")
_OPENING = re.compile(r"^([^:,]{4,60})[:,] ")


@dataclass(frozen=True, slots=True)
class Example:
    """A prompt and an answer as tokens; `scored` marks the tokens of the answer to learn."""

    document: str
    kind: str
    prompt: list[int]
    answer: list[int]
    scored: list[bool]

    @property
    def held_out(self) -> bool:
        """Whether the document is kept for validation."""
        return is_held_out(self.document)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A document, its chunks with the context of each, and its digest."""

    name: str
    document: Document
    chunks: list[Chunk]
    contexts: list[str]
    digest: str


def is_held_out(document: str) -> bool:
    """Whether a document, by its name, is kept for validation."""
    digest = hashlib.sha256(document.encode()).digest()
    return digest[0] * 256 + digest[1] < 65536 / HELD_OUT_OF


class Tokens:
    """The tokenizer of a GGUF file, as crx uses it."""

    def __init__(self, path: Path) -> None:
        model = LlamaModel(
            str(path),
            gpu_layers=0,
            extra_buffers=False,
            log=NativeLog(),
            heartbeat=lambda: None,
        )
        template = read_template(
            model.meta("tokenizer.chat_template"), bos=model.bos, eos=model.eos
        )
        self._tokenizer = PromptTokenizer(model, template)
        self._ends = model.tokenize(model.eos, special=True)

    def prompt(self, prefix: str, suffix: str) -> list[int]:
        """Return the tokens of a prompt in the chat template."""
        return self._tokenizer.prefix(prefix) + self._tokenizer.suffix(suffix)

    def answer(self, lines: Sequence[str]) -> tuple[list[int], list[int]]:
        """Return the tokens of an answer with its end, and the line of each."""
        tokens, line_of = [], []
        for number, line in enumerate(lines):
            end = "\n" if number + 1 < len(lines) else ""
            found = self._tokenizer.plain(line + end) + ([] if end else self._ends)
            tokens += found
            line_of += [number] * len(found)
        return tokens, line_of

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return [len(self._tokenizer.plain(text)) for text in texts]


def read_documents(path: Path) -> Iterator[Labelled]:
    """Yield the documents of a JSON-lines file that have contexts, read as crx does."""
    with path.open(encoding="utf-8") as lines:
        for row in filter(itemgetter("chunks"), map(json.loads, lines)):
            name = row["source"].get("path") or row["source"]["file"]
            (document,) = read_bytes(row["text"].encode(), name=f"/{name}")
            if document.text != row["text"]:
                raise SystemExit(f"{name}: crx reads another text")
            starts = [chunk["start"] for chunk in row["chunks"]]
            sections = sections_at(document.marks, starts)
            chunks = [
                Chunk(i, c["start"], c["end"], 0, 0, section, row["text"][c["start"] : c["end"]])
                for i, (c, section) in enumerate(zip(row["chunks"], sections, strict=True))
            ]
            contexts = [chunk["context"] for chunk in row["chunks"]]
            yield Labelled(row["doc"], document, chunks, contexts, row["digests"][0])


def make_examples(labelled: Labelled, tokens: Tokens) -> Iterator[Example]:
    """Yield the examples of a document: its digest, and the lines of each group, twice.

    The lines of a group are to be written behind the digest, and behind the first line of the
    outline, which stands for it if no digest was accepted.
    """
    groups = GroupContextualizer(_ask_nothing, GroupPrompt.of(), tokens.count)
    prompt = tokens.prompt(*groups.digest_prompt(labelled.document, labelled.chunks[0]))
    answer, _ = tokens.answer([labelled.digest])
    yield Example(labelled.name, "digest", prompt, answer, [True] * len(answer))
    head = Outliner(labelled.document).outline(labelled.chunks[0]).partition("\n")[0]
    for group in groups.groups(labelled.chunks):
        chunks = labelled.chunks[group.start : group.stop]
        contexts = labelled.contexts[group.start : group.stop]
        text = groups.group_text(chunks)
        for above in (labelled.digest, head):
            prompt = tokens.prompt(groups.prompt.lines.prefix(above), text)
            lines = make_lines(contexts, known=[head, above, *(chunk.text for chunk in chunks)])
            # A line of which too little is left stays in the answer, and is not learned.
            kept = [line or context for line, context in zip(lines, contexts, strict=True)]
            numbered = [f"[{number}] {line}" for number, line in enumerate(kept, 1)]
            answer, line_of = tokens.answer(numbered)
            scored = [bool(lines[line]) for line in line_of]
            yield Example(labelled.name, "window", prompt, answer, scored)


def make_lines(contexts: Sequence[str], *, known: Sequence[str]) -> list[str]:
    """Return the lines of a group; "" for one of which too little is left.

    Clauses with a name or a number that none of the `known` texts has are dropped, and so is the
    opening that a line has in common with the one before.
    """
    vocabulary = DocumentVocabulary("\n".join(known))
    lines, before = [], ""
    for context in contexts:
        line = " ".join(context.split())
        opening = _OPENING.match(line)
        if opening and opening[1].removesuffix(" continued") == before:
            line = line[opening.end() :]
        before = opening[1].removesuffix(" continued") if opening else ""
        clauses = [
            clause
            for clause in _CLAUSES.split(line)
            if not any(vocabulary.unknown_numbers(clause))
            and not any(vocabulary.unknown_names(clause))
        ]
        line = " ".join(clauses).rstrip(",;: ")
        line = line[:1].upper() + line[1:] if line[:1].islower() and " " in line else line
        lines.append(line if LINE_CHARS[0] < len(line) <= LINE_CHARS[1] else "")
    return lines


def _ask_nothing(prefix: str, prompts: object) -> Iterator[tuple[int, object]]:
    raise AssertionError("prompts are made here, not answered")
