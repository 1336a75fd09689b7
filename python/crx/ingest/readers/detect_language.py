"""Detection of the programming language of a text without a known extension.

Each language has patterns that occur in its code and hardly anywhere else. The text is parsed with
the grammars of the languages whose patterns are most frequent; the grammar with the fewest errors
gives the language. Prose matches no pattern, and most of it would be errors.
"""

from __future__ import annotations

import re
from functools import cache

from crx.ingest.formats import LANGUAGES
from crx.ingest.readers.code import load_grammars

# Tuned on 1,000 files of 27 formats, about half of them source files of these languages.
_COUNTED = 40_000  # characters in which matches are counted
_PARSED = 200_000  # characters that are parsed
_FEWEST = 2  # matches below which a language is not tried
_DENSITY = 16  # lines per match above which it is not tried
_TRIED = 3
# The largest share of a text that may lie in syntax errors: C++ with unexpanded macros reaches
# 0.1, prose 1.
_WRONG = 0.15

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|^[ \t]*(?://|#(?![a-z!\[])).*?$", re.DOTALL | re.MULTILINE)
_PREPROCESSOR = r"^[ \t]*#[ \t]*(?:include|define|ifdef|ifndef|endif|if|pragma)\b"
_SCRIPT = (
    r"\b(?:const|let|var) [\w{\[][^=\n]{0,100}=",
    r"=> ",
    r"\bfunction\b ?\w*\(",
    r"^import .* from ['\"]",
    r" [!=]== ",
)
_PATTERNS = {
    "python": (
        r"^[ \t]*(?:async )?def \w+\(.*",
        r"^[ \t]*class \w+[\(:]",
        r"^[ \t]*from [\w.]+ import ",
        r"^import [\w.]+(?: as \w+)?$",
        r"\bself\.",
        r"^if __name__ ==",
        r"^[ \t]*(?:if|elif|for|while|try|except|else|with)\b.*:$",
    ),
    "rust": (
        r"^[ \t]*(?:pub(?:\(\w+\))? )?(?:unsafe )?fn \w+",
        r"^[ \t]*(?:pub )?use (?:\w+::|\{)",
        r"\blet (?:mut )?\w{1,100}.{0,100}=",
        r"^[ \t]*(?:pub )?(?:struct|enum|trait|mod|const|static) \w+",
        r"^[ \t]*impl\b.*\{",
        r"^[ \t]*#!?\[\w+",
        r"\) -> ",
        r"\w!\(",
        r"&mut ",
    ),
    "javascript": (
        *_SCRIPT,
        r"\brequire\(['\"]",
        r"^export (?:default|const|function|class)",
        r"\bconsole\.\w+\(",
        r"^module\.exports\b",
    ),
    "typescript": (
        *_SCRIPT,
        r"^export (?:default|const|function|class|interface|type)",
        r"\w\??: (?:string|number|boolean|void|any)\b",
        r"^(?:export )?(?:declare )?(?:interface|type|enum|namespace) \w+.*[{=]",
    ),
    "go": (
        r"^package \w+$",
        r"^func (?:\(|\w+).*\{$",
        r"\w :?= ",
        r"^import (?:\(|\")",
        r"^type \w+ (?:struct|interface)",
        r"\berr != nil",
        r"^\t+(?:defer|return|if|for|switch)\b",
    ),
    "java": (
        r"^package [\w.]+;",
        r"^import (?:static )?[\w.*]+;",
        r"\b(?:public|private|protected) [\w<>\[\], ?.]{1,100}(?:[({;=]|$)",
        r"@Override|@Test",
        r"\bnew \w+(?:<.{0,100}>)?\(",
        r"\) throws \w+",
        r"\b(?:class|interface) \w+ (?:extends|implements) \w+",
        r"^[ \t]*(?:final )?(?:int|String|long|byte(?:\[\])?|boolean|char(?:\[\])?) \w+ ?[=;(]",
        r"\w\.\w+\(.{0,200}\);",
    ),
    "c": (
        _PREPROCESSOR,
        r"\b(?:int|char|void|size_t|u?int\d+_t|struct \w+) ?\*? ?\w+ ?[;,=)(\[]",
        r"\w->\w",
        r"\bNULL\b",
        r"\b(?:malloc|printf|sizeof)\(",
        r"^typedef\b.*[;{]",
    ),
    "cpp": (
        _PREPROCESSOR,
        r"\w::~?\w",
        r"\btemplate ?<",
        r"^[ \t]*(?:inline )?namespace\b.*\{?$",
        r"^[ \t]*(?:public|private|protected):",
        r"\bnullptr\b",
        r"\bvirtual \w",
        r"\boverride\b ?[;{]",
        r"\bconst ?&",
        r"\bnoexcept\b",
        r"^[ \t]*class \w+.*[{:;]?$",
        r"\w->\w",
    ),
}
# What may be long is bounded where a pattern may begin anywhere in a line: it would be read again
# from each such position.
# A line that every file of the language has.
_NEEDED = {"go": re.compile(r"^package \w+$", re.MULTILINE)}


# Programs that run a script, by the language that they read.
_INTERPRETERS = {
    "sh": "bash", "dash": "bash", "zsh": "bash", "ksh": "bash", "node": "javascript",
    "pwsh": "powershell", "rscript": "r",
}  # fmt: skip
_INTERPRETER = re.compile(r"#!\s*(?:\S*/env\s+(?:-S\s+)?)?(?:\S*/)?([a-zA-Z]+)")


def detect_language(text: str) -> str:
    """Return the language of a source text as `formats.LANGUAGES` names it, else "".

    Without grammars it is that of the interpreter in the first line.
    """
    if run := _INTERPRETER.match(text):
        program = run[1].lower()
        language = _INTERPRETERS.get(program, program)
        if language in LANGUAGES.values():
            return language
    if (grammars := load_grammars()) is None:
        return ""
    bare = _COMMENT.sub("", text[:_COUNTED])
    lines = sum(1 for line in bare.split("\n") if line.strip())
    counts = {language: _count(language, bare) for language in _PATTERNS}
    sample = text if len(text) <= _PARSED else text[: text.rfind("\n\n", 0, _PARSED)]
    tried: list[tuple[float, int, str]] = []
    for language in sorted(counts, key=lambda language: -counts[language])[:_TRIED]:
        if counts[language] >= _FEWEST and counts[language] * _DENSITY >= lines:
            wrong = grammars.error_share(sample, language)
            if wrong <= _WRONG:
                tried.append((round(wrong, 2), -counts[language], language))
    return min(tried)[2] if tried else ""


def _count(language: str, bare: str) -> int:
    needed = _NEEDED.get(language)
    return len(_pattern(language).findall(bare)) if not needed or needed.search(bare) else 0


@cache
def _pattern(language: str) -> re.Pattern[str]:
    return re.compile("|".join(_PATTERNS[language]), re.MULTILINE)
