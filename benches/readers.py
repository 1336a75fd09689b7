"""Words of each reader beside those of another program, over the test files of packages.

A word is a run of letters or of digits, without case and compatibility forms. The share of a file
is that of the rival's different words which the reader has too. With repetitions, each word counts
as often as it occurs; that share is smaller where a reader drops running headers. A file that crx
refuses has none of its words; a file in which the rival finds no word is left out.

Run: python benches/readers.py FOLDER [--format pdf] [--files] [--json FILE]

FOLDER has one folder for each of the packages that a format names, unpacked: those of Python with
`pip download --no-deps --no-binary :all: NAME==VERSION` and `tar`. `--files` lists the files with
the smallest shares. The rivals are programs of Debian's packages and of PyPI; see `FORMATS`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import commit, processor, write_results

from crx.errors import InputError
from crx.ingest.read import read_file

WORD = re.compile(r"[^\W\d_]+|\d+")
# Files that are listed with `--files`.
LISTED = 25


@dataclass(frozen=True, slots=True)
class Format:
    """A format: the packages with files of it, and the rival that tells the words of a file."""

    name: str
    packages: tuple[str, ...]
    suffixes: tuple[str, ...]
    rival: str
    extract: Callable[[Path], str]


@dataclass(frozen=True, slots=True)
class Result:
    """The words of the rival in a file, those of them that crx has, and why it refused the file."""

    path: Path
    words: Counter[str]
    found: Counter[str]
    refusal: str
    cpu_s: float

    @property
    def share(self) -> float:
        """The share of the rival's different words that crx has."""
        return len(self.found) / len(self.words)


def pdftotext(path: Path) -> str:
    """Return what poppler prints of a PDF, "" if it refuses it."""
    done = subprocess.run(
        ["pdftotext", "-cropbox", "-enc", "UTF-8", str(path), "-"], capture_output=True, check=False
    )
    return done.stdout.decode(errors="replace")


def printed_by(*command: str) -> Callable[[Path], str]:
    """Return what tells the words of a file: what a program prints of it, "" if it refuses it."""

    def extract(path: Path) -> str:
        done = subprocess.run([*command, str(path)], capture_output=True, check=False)
        return done.stdout.decode(errors="replace")

    return extract


def markitdown(path: Path) -> str:
    """Return what markitdown prints of a file, without its own comments and names of pictures."""
    printed = printed_by("markitdown")(path)
    return re.sub(r"<!--.*?-->|(?<=\])\([^)\n]*\)", " ", printed, flags=re.DOTALL)


def sheets(path: Path) -> str:
    """Return the visible cells of a workbook as LibreOffice shows them, "" if it refuses it."""
    with tempfile.TemporaryDirectory() as folder:
        profile = f"-env:UserInstallation=file://{tempfile.gettempdir()}/crx-readers-libreoffice"
        # Tabs, UTF-8, cells as shown, each sheet a file.
        target = "csv:Text - txt - csv (StarCalc):9,34,76,1,,0,false,true,true,false,false,-1"
        command = ["soffice", "--headless", profile, "--convert-to", target, "--outdir", folder]
        subprocess.run([*command, str(path)], capture_output=True, check=False)
        return "\n".join(each.read_text(errors="replace") for each in Path(folder).iterdir())


FORMATS = (
    Format(
        "pdf",
        ("pypdf-7.1.1", "pdfminer.six-20181108", "tabula_py-2.10.0"),
        (".pdf",),
        "pdftotext",
        pdftotext,
    ),
    Format("docx", ("python_docx-1.2.0",), (".docx",), "docx2txt", printed_by("docx2txt")),
    Format(
        "xlsx", ("xlrd-1.2.0", "python_calamine-0.9.1"), (".xlsx",), "LibreOffice (CSV)", sheets
    ),
    Format(
        "xls",
        ("xlrd-1.2.0", "python_calamine-0.9.1", "pyexcel_xls-0.7.1"),
        (".xls",),
        "LibreOffice (CSV)",
        sheets,
    ),
    Format("pptx", ("python_pptx-1.0.2",), (".pptx",), "markitdown", markitdown),
    Format("odt", ("odfpy-1.4.1",), (".odt",), "odt2txt", printed_by("odt2txt")),
)


def count_words(text: str) -> Counter[str]:
    """Return how often each word occurs."""
    return Counter(WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def read_words(path: Path) -> tuple[Counter[str], str]:
    """Return the words that crx reads in a file, and why it refused the file or a part of it."""
    words: Counter[str] = Counter()
    try:
        for document in read_file(path):
            labels = " ".join(mark.label for mark in document.marks if mark.kind == "heading")
            words += count_words(f"{document.text} {labels}")
    except InputError as refused:
        return words, str(refused)
    return words, ""


def compare(format_: Format, folder: Path) -> Iterator[Result]:
    """Yield the result of each file in which the rival finds a word."""
    for package in format_.packages:
        files = sorted(
            path for path in (folder / package).rglob("*") if path.suffix in format_.suffixes
        )
        if not files:
            raise SystemExit(f"{folder / package}: no {format_.name} files; unpack {package} there")
        for path in files:
            if not (theirs := count_words(format_.extract(path))):
                continue
            began = time.process_time()
            ours, refusal = read_words(path)
            yield Result(
                path,
                words=theirs,
                found=theirs & ours,
                refusal=refusal,
                cpu_s=time.process_time() - began,
            )


def summarize(results: Sequence[Result]) -> dict[str, float]:
    """Return the figures of a format."""
    words = sum(len(result.words) for result in results)
    repeated = sum(result.words.total() for result in results)
    return {
        "files": len(results),
        "refused": sum(1 for result in results if result.refusal and not result.found),
        "words": words,
        "share": round(sum(len(result.found) for result in results) / words, 4),
        "with_repetitions": round(sum(r.found.total() for r in results) / repeated, 4),
        "mean_share": round(sum(result.share for result in results) / len(results), 4),
        "cpu_s": round(sum(result.cpu_s for result in results), 2),
    }


def print_files(results: Sequence[Result], folder: Path) -> None:
    """Print the files with the smallest shares."""
    for result in sorted(results, key=lambda result: result.share)[:LISTED]:
        path = result.path.relative_to(folder)
        why = result.refusal or " ".join([*(result.words.keys() - result.found.keys())][:12])
        print(f"{result.share:.3f} of {len(result.words):5} words  {path}  {why}")
    print()


def main() -> None:
    """Compare the readers that were asked for and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--format", action="append", choices=[each.name for each in FORMATS])
    parser.add_argument("--files", action="store_true")
    parser.add_argument("--json", default="")
    asked = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    for format_ in FORMATS:
        if asked.format and format_.name not in asked.format:
            continue
        results = list(compare(format_, asked.folder))
        figures[format_.name] = summarize(results)
        if asked.files:
            print_files(results, asked.folder)
    print(f"{processor()}, commit {commit()}\n")
    print(
        "| format | rival | files | refused | words | share | with repetitions | mean of files "
        "| seconds |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for format_ in FORMATS:
        if row := figures.get(format_.name):
            print(
                f"| {format_.name} | {format_.rival} | {row['files']} | {row['refused']} "
                f"| {row['words']} | {row['share']:.4f} | {row['with_repetitions']:.4f} "
                f"| {row['mean_share']:.4f} | {row['cpu_s']:.2f} |"
            )
    if asked.json:
        write_results(asked.json, benchmark="readers", rounds=1, figures=figures)


if __name__ == "__main__":
    main()
