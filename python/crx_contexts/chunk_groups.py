"""Contexts of several consecutive chunks in one prompt, behind a digest of the document.

A model reads each chunk once, in a group of a few chunks, and writes one line for each of them.
What the chunks do not say of the document stands in a digest, which the model has written from the
document's outline and opening. So no chunk is read behind a long document.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace

from crx._context.outline import Outliner
from crx._services.prompt import Prompt
from crx.errors import UsageError
from crx.types import Chunk, Context, Document
from crx_contexts.chunk_prompt import Answers, Ask, ChunkPrompt
from crx_contexts.validate import ContextValidator

# Chunks and tokens of a group; a chunk of more tokens is a group of its own.
CHUNKS_PER_GROUP = 6
TOKENS_PER_GROUP = 1200
# Chunks after which a group ends with the section.
ENOUGH_CHUNKS = 3
# Characters between two chunks of a group, which may be a line break and an indent.
MAX_GAP = 8
# Characters of the document's opening from which its digest is written.
OPENING_CHARS = 3000
# Characters of a line and of a digest. Of 3,885 lines by a large model 1% are longer than 213.
LINE_CHARS = (20, 220)
DIGEST_CHARS = (40, 400)
# Characters of a digest by a large model, for estimates.
USUAL_DIGEST_CHARS = 200

_DIGEST_TEMPLATE = """\
<outline>
{document}
</outline>
<opening>
{chunk}
</opening>
Say in one sentence what kind of document begins like this, on which subject, and by whom or \
between whom. Use its own language, names and terms. Answer only with this sentence."""

_LINES_TEMPLATE = """\
<document>
{document}
</document>
<chunks>
{chunk}
</chunks>
For every numbered chunk write one line: its number in brackets, then what this chunk has that the \
others do not, with the names and terms that somebody would search for. Use the language of the \
chunks. Answer only with these lines."""

_LINE = re.compile(r"^[ \t]*\[(\d+)\][ \t]*(\S[^\n]*)$", re.MULTILINE)
# The first character of a line is none that opens a label, a tag or a list.
_TEXT = r"[^ \t\r\n<>\[\]*#-] [^\r\n]{%d,%d}"


@dataclass(frozen=True, slots=True)
class GroupPrompt:
    """The prompt for a document's digest, and that for the lines of a group."""

    digest: Prompt
    lines: Prompt

    @staticmethod
    def of(*, glossary: str = "") -> GroupPrompt:
        """Return the prompts with a glossary in the second."""
        lines = Prompt.of(_LINES_TEMPLATE, glossary=glossary)
        return GroupPrompt(Prompt.of(_DIGEST_TEMPLATE), lines)

    @staticmethod
    def beside(prompt: Prompt, *, source: str) -> GroupPrompt:
        """Return the prompts with the glossary of another one.

        Raises `UsageError`, which names the source, if that has a template of its own.
        """
        if prompt.parts != Prompt.of(glossary=prompt.glossary).parts:
            raise UsageError(
                f"{source}: prompt=window has a template of its own; leave out prompt=window or the"
                " prompt file"
            )
        return GroupPrompt.of(glossary=prompt.glossary)

    @property
    def hash(self) -> str:
        """Sixteen hex digits of a digest of both prompts."""
        return hashlib.sha256(f"{self.digest.hash} {self.lines.hash}".encode()).hexdigest()[:16]


def read_form(form: str, prompt: Prompt, *, source: str) -> GroupPrompt | None:
    """Return the prompts of groups for the form "window", None for "document".

    Raises `UsageError`, which names the source, for another form, and for "window" beside a
    template.
    """
    if form not in ("document", "window"):
        raise UsageError(f'{source}: prompt is "document" or "window", not "{form}"')
    return GroupPrompt.beside(prompt, source=source) if form == "window" else None


def split_chunk_groups(chunks: Sequence[Chunk], tokens: Sequence[int]) -> list[range]:
    """Return the positions of the chunks of each group; `tokens` are those of each chunk.

    The chunks of a group follow each other with at most `MAX_GAP` characters between. A group of
    `ENOUGH_CHUNKS` ends at the end of a section.
    """
    groups: list[range] = []
    first = 0
    for at in range(1, len(chunks)):
        full = at - first >= CHUNKS_PER_GROUP or sum(tokens[first : at + 1]) > TOKENS_PER_GROUP
        gap = chunks[at].start > chunks[at - 1].end + MAX_GAP
        section_ends = chunks[at].section != chunks[at - 1].section
        if full or gap or (section_ends and at - first >= ENOUGH_CHUNKS):
            groups.append(range(first, at))
            first = at
    return [*groups, range(first, len(chunks))] if chunks else []


def format_chunks(texts: Sequence[str]) -> str:
    """Return texts as numbered chunks."""
    return "\n".join(f"[{number}] {text.strip()}" for number, text in enumerate(texts, 1))


def parse_lines(answer: str) -> dict[int, str]:
    """Return the lines of an answer by number, the first of each."""
    lines: dict[int, str] = {}
    for number, text in _LINE.findall(answer):
        lines.setdefault(int(number), text.strip())
    return lines


def lines_grammar(count: int) -> str:
    """Return the grammar (GBNF) of so many numbered lines."""
    lines = ' "\\n" '.join(f'"[{number}] " line' for number in range(1, count + 1))
    return f"root ::= {lines}\nline ::= {_TEXT % LINE_CHARS}\n"


def digest_grammar() -> str:
    """Return the grammar (GBNF) of a digest."""
    return f"root ::= {_TEXT % DIGEST_CHARS}\n"


# Second tries after which their share of accepted ones decides, and the least such share. A second
# try takes up to twice the time of a first line.
ENOUGH_TRIES = 30
MIN_ACCEPTED = 0.2


@dataclass(slots=True)
class LineCounts:
    """First lines of a contextualizer since it was opened, second tries, and digests.

    It is not stored: each run, and each process of a run, counts for itself.
    """

    first: int = 0
    rejected: int = 0
    second: int = 0
    accepted: int = 0
    documents: int = 0
    digests: int = 0

    @property
    def lines(self) -> int:
        """The lines and digests that the model was asked for."""
        return self.first + self.second + self.digests

    @property
    def digests_a_document(self) -> float:
        """The mean number of digests that the model was asked for, 1 to 2."""
        return self.digests / max(1, self.documents)

    @property
    def second_try_pays(self) -> bool:
        """Whether a rejected line is to be asked for again."""
        return self.second < ENOUGH_TRIES or self.accepted >= MIN_ACCEPTED * self.second

    def count_digest(self, context: Context) -> None:
        """Count the digest of a document; a rejected one was asked for twice."""
        self.documents += 1
        self.digests += 1 if context.status == "ok" else 2

    def count_first(self, context: Context) -> None:
        """Count a line of a group."""
        self.first += 1
        self.rejected += context.status == "rejected"

    def count_second(self, context: Context) -> None:
        """Count a line that was asked for alone."""
        self.second += 1
        self.accepted += context.status == "ok"

    def estimate_second_tries(self, chunks: int) -> float:
        """Return how many second tries so many chunks will take, at the shares so far."""
        wanted = chunks * self.rejected / max(1, self.first)
        few = self.accepted < MIN_ACCEPTED * self.second
        return min(wanted, ENOUGH_TRIES) if few else wanted


# Tokens of an answer: six lines of 220 characters, three characters a token, and their numbers.
GROUP_ANSWER_TOKENS = 480
# Groups that llama.cpp decodes together. On processors a token takes longest with few sequences:
# in milliseconds of SmolLM2-135M behind 1,300 tokens, with two threads, 14 alone, 11 beside one and
# 6 beside 7.
GROUPS_TOGETHER = 8

Count = Callable[[Sequence[str]], list[int]]
# A document's position, a chunk's position and its context.
Situated = tuple[int, int, Context]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A prompt, and what its answer gives: contexts, and further prompts for a queue."""

    prompt: ChunkPrompt
    accept: Callable[[Context], list[Situated]]


@dataclass(frozen=True, slots=True)
class _GroupedReading:
    """A document whose digest is written, and the prefix of the prompts of its groups."""

    position: int
    chunks: Sequence[Chunk]
    validator: ContextValidator
    digest: str
    prefix: str


@dataclass(frozen=True, slots=True)
class GroupContextualizer:
    """Contexts of a group of chunks at a time.

    A context is the document's digest and the chunk's line. A line that is missing or rejected is
    asked for once more, alone and before further groups, while `counts` say that this pays.
    `count` returns the tokens of each text. `together` prompts wait for their answers at a time,
    of one document after another.
    """

    ask: Ask
    prompt: GroupPrompt
    count: Count
    counts: LineCounts = field(default_factory=LineCounts)
    together: int = GROUPS_TOGETHER

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Answers:
        """Yield (position, context) of every chunk, a group's together as soon as it is read."""
        with contextlib.closing(self.situate_many([(document, chunks)])) as contexts:
            for _, at, context in contexts:
                yield at, context

    def situate_many(
        self, documents: Sequence[tuple[Document, Sequence[Chunk]]]
    ) -> Generator[Situated, None, None]:
        """Yield (document's position, chunk's position, context), likewise."""
        queue: deque[_Asked] = deque()
        # Tokens cannot be counted while answers are awaited.
        groups = [self.groups(chunks) for _, chunks in documents]
        unread = (at for at, found in enumerate(groups) if found)
        asked: list[_Asked] = []
        prompts: list[ChunkPrompt] = []

        def ask_more(answered: int) -> None:
            while len(asked) - answered < self.together:
                if not queue:
                    at = next(unread, -1)
                    if at < 0:
                        return
                    queue.append(self._ask_digest(at, *documents[at], groups[at], queue))
                asked.append(queue.popleft())
                prompts.append(asked[-1].prompt)

        ask_more(0)
        with contextlib.closing(self.ask(prompts)) as answers:
            for answered, (number, answer) in enumerate(answers, 1):
                contexts = asked[number].accept(answer)
                ask_more(answered)
                yield from contexts

    def groups(self, chunks: Sequence[Chunk]) -> list[range]:
        """Return the positions of the chunks of each group."""
        return split_chunk_groups(chunks, self.count([chunk.text for chunk in chunks]))

    def group_text(self, chunks: Sequence[Chunk]) -> str:
        """Return what follows the prefix for the chunks of a group."""
        return self.prompt.lines.suffix(format_chunks([chunk.text for chunk in chunks]))

    def line_text(self, chunk: Chunk) -> str:
        """Return what follows the prefix for a chunk that is asked for alone."""
        return self.prompt.lines.suffix(format_chunks([chunk.text]), firmer=True)

    def digest_prompt(self, document: Document, chunk: Chunk) -> tuple[str, str]:
        """Return the prefix and the rest of the prompt for a document's digest."""
        opening = document.text[:OPENING_CHARS]
        head = _head(document, chunk)
        return self.prompt.digest.prefix(head), self.prompt.digest.suffix(opening)

    def _ask_digest(
        self,
        at: int,
        document: Document,
        chunks: Sequence[Chunk],
        groups: Sequence[range],
        queue: deque[_Asked],
    ) -> _Asked:
        """Return the prompt for the digest of a document, whose groups are then put in `queue`.

        A digest that is rejected twice is replaced by the first line of the outline.
        """
        validator = ContextValidator(document, prompt=self.prompt.digest)
        opening = document.text[:OPENING_CHARS]
        subject = Chunk(0, 0, len(opening), 0, 0, 0, opening)
        prefix, suffix = self.digest_prompt(document, chunks[0])
        prompt = ChunkPrompt(
            prefix + suffix,
            prefix + self.prompt.digest.suffix(opening, firmer=True),
            lambda answer, finished: validator.validate(answer, chunk=subject, finished=finished),
            grammar=digest_grammar(),
        )

        def accept(digest: Context) -> list[Situated]:
            self.counts.count_digest(digest)
            prefix = self.prompt.lines.prefix(digest.text or _head(document, chunks[0]))
            validator = ContextValidator(document, prompt=self.prompt.lines)
            reading = _GroupedReading(at, chunks, validator, digest.text, prefix)
            queue.extend(self._ask_group(reading, group, queue) for group in groups)
            return []

        return _Asked(prompt, accept)

    def _ask_group(self, reading: _GroupedReading, group: range, queue: deque[_Asked]) -> _Asked:
        """Return the prompt for the lines of a group; rejected ones are put before `queue`."""
        chunks = reading.chunks[group.start : group.stop]
        text = reading.prefix + self.group_text(chunks)
        prompt = ChunkPrompt(text, None, _accept_lines, lines_grammar(len(chunks)))

        def accept(answer: Context) -> list[Situated]:
            found: list[Situated] = []
            again: list[_Asked] = []
            for at, context in self._read_lines(answer, reading, group):
                if context.status == "rejected" and self.counts.second_try_pays:
                    again.append(self._ask_line(reading, at))
                else:
                    found.append((reading.position, at, _join(reading.digest, context)))
            queue.extendleft(reversed(again))
            return found

        return _Asked(prompt, accept)

    def _ask_line(self, reading: _GroupedReading, at: int) -> _Asked:
        """Return the prompt for the line of one chunk."""
        chunk = reading.chunks[at]

        def validate(answer: str, finished: bool) -> Context:  # noqa: FBT001
            return reading.validator.validate(answer, chunk=chunk, finished=finished, number=1)

        def accept(context: Context) -> list[Situated]:
            self.counts.count_second(context)
            return [(reading.position, at, _join(reading.digest, _mark_retried(context)))]

        text = reading.prefix + self.line_text(chunk)
        return _Asked(ChunkPrompt(text, None, validate, lines_grammar(1)), accept)

    def _read_lines(
        self, answer: Context, reading: _GroupedReading, group: range
    ) -> list[tuple[int, Context]]:
        """Return (position, context) of the chunks of a group; all of them are counted."""
        lines = parse_lines(answer.text)
        contexts: list[tuple[int, Context]] = []
        for nth, at in enumerate(group, 1):
            if answer.status == "failed":
                context = answer
            elif nth not in lines:
                context = Context.rejected("missing line")
            else:
                context = reading.validator.validate(lines[nth], chunk=reading.chunks[at])
            self.counts.count_first(context)
            contexts.append((at, context))
        return contexts


def _accept_lines(answer: str, finished: bool) -> Context:  # noqa: FBT001
    """Return the lines of a group's answer; one that was stopped at its limit loses the last."""
    return Context(answer if finished else answer.rpartition("\n")[0])


def _head(document: Document, chunk: Chunk) -> str:
    """Return the first line of a chunk's outline."""
    return Outliner(document).outline(chunk).partition("\n")[0]


def _mark_retried(context: Context) -> Context:
    return replace(context, status="retried") if context.status == "ok" else context


def _join(digest: str, context: Context) -> Context:
    """Return a chunk's context with the digest before it."""
    if not (digest and context.text):
        return context
    return replace(context, text=f"{digest}\n{context.text}")
