"""Questions over Debian's documentation: crx against SQLite FTS5 and a search of lines.

Every question names a package, a file in it and a quote of its answer. A passage, a chunk or a
printed screen answers if it holds at least half of the quote (the longest common substring, without
white space), in whichever file. The packages of one language are one index, read as they are:
HTML with its navigation, compressed text, PDF, images and scripts beside them.

FTS5 ranks the same chunks with its `bm25`, any word of the question (tokenizer porter; trigram for
Chinese and Japanese). The search of lines is what `rg -i` or `zgrep -i` with every word of the
question can give: the lines with most of its words, each with two around it; tags are removed.

Run: python benches/everyday.py QUESTIONS PACKAGES --index DIR [--embedder none] [--langs fr,ja]

QUESTIONS is a file of JSON lines. PACKAGES is a folder with one folder for each package, unpacked
with `dpkg -x`: `apt-get download NAME; dpkg -x NAME_*.deb PACKAGES/NAME`.
"""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
from harness import commit

import crx
from crx._cli.passages import SHOWN, choose_shown, layout_passages
from crx._cli.screen import make_screen
from crx._show.copies import fold_copies

DEPTH = 20
CUTS = (1, 5, 20)
AROUND = 2  # lines around a line that is found
SCREEN = {"COLUMNS": "100", "LINES": "40"}

HANDBOOK = "debian-handbook/usr/share/doc/debian-handbook/html"
FOLDERS = {
    "en": (
        "debian-policy",
        "debian-reference-en",
        "bash-doc",
        "valgrind",
        "postgresql-doc-15",
        "git-doc",
        "installation-guide-amd64/usr/share/doc/installation-guide-amd64/en",
    ),
    "fr": ("debian-reference-fr", "developers-reference-fr"),
    "ja": ("debian-reference-ja", f"{HANDBOOK}/ja-JP"),
    "zh": ("debian-reference-zh-cn", f"{HANDBOOK}/zh-CN"),
    "vi": ("libreoffice-help-vi", "maint-guide-vi", f"{HANDBOOK}/vi-VN"),
}
TRIGRAM_LANGS = ("zh", "ja")
# Words of a question; in Chinese and Japanese, pairs of characters.
WORD = re.compile(
    r"[a-z0-9_][\w.+/-]*[a-z0-9_]|[\u3400-\u9fff]{2}|[\u30a1-\u30ff]{2,}|[^\W\u3040-\u9fff]+"
)
TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    lang: str
    kind: str
    text: str
    quote: str


def read_questions(file: Path, packages: Path) -> dict[str, list[Question]]:
    """Return the questions by language, without those whose file is not there."""
    by_lang: dict[str, list[Question]] = defaultdict(list)
    missing = 0
    for line in file.read_bytes().splitlines():
        row = orjson.loads(line)
        if not (packages / row["package"] / row["path"]).is_file():
            missing += 1
            continue
        fields = (row[name] for name in ("id", "lang", "kind", "query", "quote"))
        question = Question(*fields)
        by_lang[question.lang].append(question)
    print(f"{sum(map(len, by_lang.values()))} questions; {missing} whose file is missing")
    return by_lang


def holds(text: str, quote: str) -> bool:
    """Return True if a text holds at least half of a quote, white space aside."""
    text, quote = "".join(text.split()), "".join(quote.split())
    half = -(-len(quote) // 2)
    return any(quote[at : at + half] in text for at in range(len(quote) - half + 1))


def rank_of(texts: Iterable[str], quote: str) -> int:
    """Return the rank of the first text that answers, from 1; 0 if none does."""
    return next((rank for rank, text in enumerate(texts, start=1) if holds(text, quote)), 0)


def printed(passages: Sequence[crx.Passage], query: str) -> str:
    """Return what `crx search` prints of the best passages."""
    screen = make_screen(None, environ=os.environ, folder=os.getcwd())
    shown = choose_shown(fold_copies(passages)[:SHOWN], screen)
    return "".join(f"{line}\n" for line in layout_passages(shown, query=query, screen=screen)[0])


def chunk_texts(index: crx.Index) -> Iterator[str]:
    for row in index.store.documents():
        for chunk in index.store.chunks(index.store.chunk_keys(row.doc)):
            yield chunk.text


def full_text_search(texts: Iterable[str], lang: str) -> Callable[[str], list[str]]:
    """Return a search of chunks with SQLite's FTS5."""
    tokenizer = "trigram" if lang in TRIGRAM_LANGS else "porter unicode61"
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE VIRTUAL TABLE chunks USING fts5(text, tokenize='{tokenizer}')")
    database.executemany("INSERT INTO chunks VALUES (?)", ((text,) for text in texts))
    select = "SELECT text FROM chunks WHERE chunks MATCH ? ORDER BY bm25(chunks) LIMIT ?"

    def search(query: str) -> list[str]:
        words = re.findall(r"\w+", query)
        if lang in TRIGRAM_LANGS:
            words = [word[at : at + 3] for word in words for at in range(max(1, len(word) - 2))]
            words = [word for word in words if len(word) == 3]
        any_word = " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
        if not any_word:
            return []
        return [text for (text,) in database.execute(select, (any_word, DEPTH))]

    return search


def line_search(folders: Sequence[Path], queries: Sequence[str]) -> dict[str, list[str]]:
    """Return for each query the lines with most of its words, each with the lines around it."""
    wanted = {query: set(WORD.findall(query.lower())) for query in queries}
    words = set().union(*wanted.values())
    found: dict[str, Counter[tuple[Path, int]]] = {query: Counter() for query in queries}
    by_word: dict[str, list[str]] = defaultdict(list)
    for query, its in wanted.items():
        for word in its:
            by_word[word].append(query)
    for path in (path for folder in folders for path in sorted(folder.rglob("*"))):
        for number, line in enumerate(read_lines(path)):
            for word in words.intersection(WORD.findall(line.lower())):
                for query in by_word[word]:
                    found[query][path, number] += 1
    return {
        query: [around(*span) for span, _ in best.most_common(DEPTH)]
        for query, best in found.items()
    }


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file without tags; none of other files."""
    if path.is_symlink() or not path.is_file():
        return []
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
        return TAG.sub("", data.decode()).split("\n")
    except (OSError, UnicodeDecodeError):
        return []


def around(path: Path, number: int) -> str:
    lines = read_lines(path)
    return "\n".join(lines[max(0, number - AROUND) : number + AROUND + 1])


def measure(
    lang: str, questions: Sequence[Question], packages: Path, folder: Path, embedder: str
) -> Iterator[tuple[Question, dict[str, int]]]:
    """Yield the rank at which each system answers each question of a language."""
    folders = [packages / name for name in FOLDERS[lang]]
    with crx.open(folder / lang, settings={"embedder": embedder}) as index:
        report = index.add(*folders)
        counts = index.store.stats()
        print(f"{lang}: {counts['documents']} documents, {counts['chunks']} chunks; {report}")
        search = full_text_search(chunk_texts(index), lang)
        lines = line_search(folders, [question.text for question in questions])
        for question in questions:
            result = index.search(question.text, k=DEPTH)
            passages = [passage.text for passage in result.passages]
            screen = printed(result.passages, question.text)
            yield (
                question,
                {
                    "crx, passages": rank_of(passages, question.quote),
                    "crx, chunks": rank_of((hit.text for hit in result.hits), question.quote),
                    "crx, printed": SHOWN * holds(screen, question.quote),
                    "FTS5, chunks": rank_of(search(question.text), question.quote),
                    "lines": rank_of(lines[question.text], question.quote),
                },
            )


def print_table(ranks: dict[str, dict[str, list[int]]]) -> None:
    """Print the shares of questions answered, in percent, by group and system."""
    print("\n| | questions | system | " + " | ".join(f"@{cut}" for cut in CUTS) + " |")
    print("|---|---:|---|" + "---:|" * len(CUTS))
    for group, systems in ranks.items():
        for system, found in systems.items():
            shares = (sum(0 < rank <= cut for rank in found) / len(found) for cut in CUTS)
            row = " | ".join(f"{100 * share:.1f}" for share in shares)
            print(f"| {group} | {len(found)} | {system} | {row} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("packages", type=Path)
    parser.add_argument("--index", type=Path, required=True, help="folder for one index a language")
    parser.add_argument("--embedder", default="minilm", help="none searches with BM25 alone")
    parser.add_argument("--langs", default=",".join(FOLDERS))
    parser.add_argument(
        "--save", type=Path, help="file for the ranks of each question, as JSON lines"
    )
    options = parser.parse_args()
    os.environ.update(SCREEN)
    options.questions, options.index = options.questions.resolve(), options.index.resolve()
    options.save = options.save and options.save.resolve()
    os.chdir(options.packages)  # paths are printed relative to it
    options.packages = Path.cwd()
    print(f"{platform.processor() or platform.machine()}, commit {commit()}, {options.embedder}")
    by_lang = read_questions(options.questions, options.packages)
    ranks: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for lang in options.langs.split(","):
        for question, found in measure(
            lang, by_lang[lang], options.packages, options.index, options.embedder
        ):
            for group in ("all", question.lang, question.kind):
                for system, rank in found.items():
                    ranks[group][system].append(rank)
            if options.save:
                with options.save.open("ab") as out:
                    row = {"id": question.id, "kind": question.kind, "query": question.text}
                    out.write(orjson.dumps({**row, **found}) + b"\n")
    print_table(ranks)


if __name__ == "__main__":
    main()
