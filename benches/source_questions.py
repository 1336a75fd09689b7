"""Question sets of source files: what a comment says of a function is the question.

The first sentence of a function's comment is a question, the function without the comment its
answer; up to four functions a file lose theirs. Nobody who asks writes so, but the names in such
questions are not those of the code, and there are as many as one likes.

Run: python benches/source_questions.py python SET --folder DIR    (or rust; see `crx eval run SET`)

Without a folder, the files are those of Python's standard library or of Cargo's registry. Tests and
installed packages are left out.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import orjson

SEED = 7
FEWEST_QUESTIONS = 260
FUNCTIONS_A_FILE = 4
FILE_CHARS = range(3000, 16_000)
FUNCTION_CHARS = range(150, 900)
WORDS = range(6, 31)
_SENTENCE = re.compile(r"(.{30,220}?[.!?])(?:\s|$)")
_RUST_FUNCTION = re.compile(
    r"^((?:[ \t]*///.*\n)+)((?:[ \t]*#\[.*\n)*)([ \t]*)"
    r"(?:pub(?:\([a-z]+\))? )?(?:const |unsafe |async )*fn ",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Function:
    """A question, and the offsets of the function and of the comment that it is from."""

    question: str
    comment: tuple[int, int]
    span: tuple[int, int]


def python_functions(text: str) -> Iterator[Function]:
    """Yield the functions with a docstring, outermost first."""
    starts = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or len(node.body) < 2:
            continue
        question = first_sentence(ast.get_docstring(node) or "")
        comment = node.body[0]
        if question and comment.end_lineno and node.end_lineno:
            lines = starts[comment.lineno - 1], starts[comment.end_lineno]
            span = starts[node.lineno - 1], starts[node.end_lineno] - 1
            yield Function(question, lines, span)


def rust_functions(text: str) -> Iterator[Function]:
    """Yield the functions with a doc comment."""
    for match in _RUST_FUNCTION.finditer(text):
        lines = (line.strip()[3:].strip() for line in match[1].splitlines())
        question = first_sentence(" ".join(lines).partition("# ")[0])
        end = re.compile(rf"^{match[3]}\}}[ \t]*$", re.MULTILINE).search(text, match.end(1))
        if question and end and "///" not in text[match.end(1) : end.end()]:
            yield Function(question, match.span(1), (match.end(1), end.end()))


def first_sentence(comment: str) -> str:
    """Return the first sentence of a comment, "" if it is no fit question."""
    comment = " ".join(comment.split())
    match = _SENTENCE.match(comment)
    sentence = match[1] if match else comment[:200]
    return sentence if len(sentence.split()) in WORDS else ""


def choose(functions: Iterable[Function], chance: random.Random) -> list[Function]:
    """Return some functions of a file that are in no other one, in order."""
    apart: list[Function] = []
    for each in sorted(functions, key=lambda function: function.span):
        removed = each.comment[1] - each.comment[0]
        inside = each.span[0] <= each.comment[0] and each.comment[1] <= each.span[1]
        if each.span[1] - each.span[0] - inside * removed not in FUNCTION_CHARS:
            continue
        if not apart or each.span[0] >= apart[-1].span[1]:
            apart.append(each)
    chance.shuffle(apart)
    return sorted(apart[:FUNCTIONS_A_FILE], key=lambda function: function.span)


def without_comments(text: str, functions: Sequence[Function]) -> tuple[str, list[list[int]]]:
    """Return a text without the functions' comments, and the functions' spans in it."""
    comments = [function.comment for function in functions]

    def moved(at: int) -> int:
        return at - sum(end - start for start, end in comments if end <= at)

    spans = [[moved(at) for at in function.span] for function in functions]
    for start, end in reversed(comments):
        text = text[:start] + text[end:]
    return text, spans


def read_source(
    file: Path, find: Callable[[str], Iterable[Function]]
) -> tuple[str, list[Function]]:
    """Return the text of a file and its functions, none if it cannot be used."""
    try:
        text = file.read_text("utf-8")
        # Offsets of `ast` are bytes of a line; in ASCII they are characters.
        fits = text.isascii() and len(text) in FILE_CHARS
        return text, list(find(text)) if fits else []
    except (OSError, UnicodeDecodeError, SyntaxError):
        return "", []


def files_of(language: str, folder: Path | None) -> list[Path]:
    """Return the source files of a folder, or of the language's library, in an order by chance."""
    if language == "python":
        folder, pattern = folder or Path(sysconfig.get_path("stdlib")), "*.py"
    else:
        folder, pattern = folder or Path.home() / ".cargo/registry/src", "*.rs"
    unfit = re.compile("test|site-packages")
    files = sorted(file for file in folder.rglob(pattern) if not unfit.search(str(file)))
    random.Random(SEED).shuffle(files)
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("language", choices=("python", "rust"))
    parser.add_argument("out", type=Path)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    find = python_functions if given.language == "python" else rust_functions
    chance = random.Random(SEED)
    documents, queries = [], []
    for file in files_of(given.language, given.folder):
        source, found = read_source(file, find)
        functions = choose(found, chance)
        if len(functions) < 2:
            continue
        text, spans = without_comments(source, functions)
        name = f"{len(documents)}"
        documents.append({"doc_id": name, "title": "", "text": text})
        for function, (start, end) in zip(functions, spans, strict=True):
            gold = [{"any": [{"doc_id": name, "start": start, "end": end}]}]
            row = {"query_id": f"{len(queries)}", "query": function.question, "gold": gold}
            queries.append(row)
        if len(queries) >= FEWEST_QUESTIONS:
            break
    given.out.mkdir(parents=True, exist_ok=True)
    for each, rows in (("corpus.jsonl", documents), ("queries.jsonl", queries)):
        (given.out / each).write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    print(f"{given.out}: {len(documents)} files, {len(queries)} questions")


if __name__ == "__main__":
    main()
