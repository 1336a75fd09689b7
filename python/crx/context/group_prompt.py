"""Prompts for the contexts of several consecutive chunks at once, behind a digest of the document.

A model reads each chunk once, in a group of a few chunks, and writes one line for each of them.
What the chunks do not say of the document stands in a digest, which the model has written from the
document's outline and opening. So no chunk is read behind a long document.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from crx.context.prompt import Prompt
from crx.errors import UsageError
from crx.types import Chunk

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
