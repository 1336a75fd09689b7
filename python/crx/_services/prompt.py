"""Prompt of a contextualizer: a template, its placeholders and a glossary.

The template is split at its placeholders once. Document, chunk and glossary are inserted between
the parts and never parsed, so braces or control tokens in them remain text. In them the tags of the
template are changed, so that no document closes the element that it stands in.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from crx.errors import UsageError

# The prompt of Anthropic's "Introducing Contextual Retrieval" (2024). The document comes first, so
# that all chunks of a document share its tokens.
_DEFAULT_TEMPLATE = """\
<document>
{document}
</document>
Here is the chunk we want to situate within the whole document
<chunk>
{chunk}
</chunk>
Please give a short succinct context to situate this chunk within the overall document for the \
purposes of improving search retrieval of the chunk. Answer only with the succinct context and \
nothing else."""

# Appended to the prompt after the first answer was rejected. It comes after the chunk, so that the
# document's tokens are still shared.
FIRMER = (
    "\n\nOne or two plain sentences, in the language of the document. Begin with the context"
    " itself: no introduction, no apology, no quotation of the chunk, and only names and numbers"
    " that stand in the document."
)

_FIELD = re.compile(r"\{(\w*)\}")
_TAG = re.compile(r"</?([A-Za-z][\w-]*)>")
_KNOWN = ("document", "chunk", "glossary")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A template split at its placeholders, and the glossary that fills one of them.

    `parts` are (text, the placeholder after it); the last placeholder is "".
    """

    parts: tuple[tuple[str, str], ...]
    glossary: str = ""

    @staticmethod
    def of(
        template: str = _DEFAULT_TEMPLATE, *, glossary: str = "", name: str = "prompt"
    ) -> Prompt:
        """Split a template; without a `{glossary}` placeholder, the glossary is put first.

        Raises `UsageError` for a placeholder that is unknown, missing or in the wrong order.
        """
        if glossary and "{glossary}" not in template:
            template = "<glossary>\n{glossary}\n</glossary>\n" + template
        pieces = [*_FIELD.split(template), ""]
        names = pieces[1::2]
        _check(names[:-1], name)
        return Prompt(tuple(zip(pieces[::2], names, strict=True)), glossary)

    @staticmethod
    def read(template: str | Path | None = None, *, glossary: str | Path | None = None) -> Prompt:
        """Read a template file and a glossary file (UTF-8); without them, the default prompt."""
        terms = "" if glossary is None else _read(Path(glossary)).strip()
        general = Prompt.of(glossary=terms)
        return general if template is None else general.with_template(template)

    def with_template(self, template: str | Path) -> Prompt:
        """Return the prompt of a template file, with this one's glossary."""
        text = _read(Path(template)).strip("\n")
        return Prompt.of(text, glossary=self.glossary, name=str(template))

    @property
    def hash(self) -> str:
        """Sixteen hex digits of a digest of template, glossary and firmer instruction."""
        digest = hashlib.sha256()
        for text in (*(t for part in self.parts for t in part), self.glossary, FIRMER):
            digest.update(f"{len(text)}:{text}".encode())
        return digest.hexdigest()[:16]

    def prefix(self, document: str) -> str:
        """Return the text before the chunk, which all chunks of a document share."""
        return self._fill(self.parts[: self._cut], {"document": self._quote(document), "chunk": ""})

    def suffix(self, chunk: str, *, firmer: bool = False) -> str:
        """Return the chunk and the text after it, with the firmer instruction if `firmer`."""
        return self._quote(chunk) + self._fill(self.parts[self._cut :], {}) + FIRMER * firmer

    @property
    def _cut(self) -> int:
        return 1 + [name for _, name in self.parts].index("chunk")

    def _quote(self, text: str) -> str:
        """Return a text in which no tag is one of the template's: `< /document>`."""
        return _tags_of(tuple(part for part, _ in self.parts)).sub(r"< \1\2", text)

    def _fill(self, parts: tuple[tuple[str, str], ...], texts: dict[str, str]) -> str:
        values = {**texts, "glossary": self.glossary, "": ""}
        return "".join(text + values[name] for text, name in parts)


@lru_cache(maxsize=16)
def _tags_of(parts: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern of the tags of a template, however they are written elsewhere."""
    names = sorted({re.escape(name) for part in parts for name in _TAG.findall(part)})
    return re.compile(rf"<(/?)\s*({'|'.join(names)})\b" if names else "(?!)()()", re.IGNORECASE)


def _check(names: list[str], template: str) -> None:
    for name in names:
        if name not in _KNOWN:
            raise UsageError(
                f"{template}: unknown placeholder {{{name}}}; use {{document}}, {{chunk}} and,"
                " optionally, {glossary}"
            )
    for needed in ("document", "chunk"):
        if names.count(needed) != 1:
            raise UsageError(f"{template}: must contain {{{needed}}} exactly once")
    if names.index("document") > names.index("chunk"):
        raise UsageError(
            f"{template}: {{document}} must stand before {{chunk}}, so that chunks can share it"
        )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as UTF-8 text: {error}") from None
