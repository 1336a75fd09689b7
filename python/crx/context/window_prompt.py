"""Prompts for the contexts of several consecutive chunks at once, behind a digest of the document.

A model reads each chunk once, in a window of a few chunks, and writes one line for each of them.
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

# Chunks and tokens of a window; a chunk of more tokens is a window of its own.
WINDOW_CHUNKS = 6
WINDOW_TOKENS = 1200
# Chunks after which a window ends with the section.
ENOUGH_CHUNKS = 3
# Characters between two chunks of a window, which may be a line break and an indent.
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

_WINDOW_TEMPLATE = """\
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
class WindowPrompt:
    """The prompt for a document's digest, and that for the lines of a window."""

    digest: Prompt
    window: Prompt

    @staticmethod
    def of(*, glossary: str = "") -> WindowPrompt:
        """Return the prompts with a glossary in the second."""
        window = Prompt.of(_WINDOW_TEMPLATE, glossary=glossary)
        return WindowPrompt(Prompt.of(_DIGEST_TEMPLATE), window)

    @staticmethod
    def beside(prompt: Prompt, *, source: str) -> WindowPrompt:
        """Return the prompts with the glossary of another one.

        Raises `UsageError`, which names the source, if that has a template of its own.
        """
        if prompt.parts != Prompt.of(glossary=prompt.glossary).parts:
            raise UsageError(
                f"{source}: prompt=window has a template of its own; leave out prompt=window or the"
                " prompt file"
            )
        return WindowPrompt.of(glossary=prompt.glossary)

    @property
    def hash(self) -> str:
        """Sixteen hex digits of a digest of both prompts."""
        return hashlib.sha256(f"{self.digest.hash} {self.window.hash}".encode()).hexdigest()[:16]


def read_form(form: str, prompt: Prompt, *, source: str) -> WindowPrompt | None:
    """Return the prompts of windows for the form "window", None for "document".

    Raises `UsageError`, which names the source, for another form, and for "window" beside a
    template.
    """
    if form not in ("document", "window"):
        raise UsageError(f'{source}: prompt is "document" or "window", not "{form}"')
    return WindowPrompt.beside(prompt, source=source) if form == "window" else None


def split_windows(chunks: Sequence[Chunk], tokens: Sequence[int]) -> list[range]:
    """Return the positions of the chunks of each window; `tokens` are those of each chunk.

    The chunks of a window follow each other with at most `MAX_GAP` characters between. A window of
    `ENOUGH_CHUNKS` ends at the end of a section.
    """
    windows: list[range] = []
    first = 0
    for at in range(1, len(chunks)):
        full = at - first >= WINDOW_CHUNKS or sum(tokens[first : at + 1]) > WINDOW_TOKENS
        gap = chunks[at].start > chunks[at - 1].end + MAX_GAP
        section_ends = chunks[at].section != chunks[at - 1].section
        if full or gap or (section_ends and at - first >= ENOUGH_CHUNKS):
            windows.append(range(first, at))
            first = at
    return [*windows, range(first, len(chunks))] if chunks else []


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
