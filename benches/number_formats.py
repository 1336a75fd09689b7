"""Cells of generated workbooks in 42 number formats, beside those that LibreOffice shows.

Each workbook has six numbers in each format; a cell is right if it is as in the CSV of LibreOffice,
but for runs of blanks. Times are whole seconds or tenths: LibreOffice cuts the rest, Excel rounds.

Run: python benches/number_formats.py [--workbooks 200] [--json FILE]

It needs openpyxl and LibreOffice (`libreoffice-calc-nogui`).
"""

from __future__ import annotations

import argparse
import csv
import random
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from harness import commit, processor, write_results
from openpyxl import Workbook

from crx.ingest.readers.left_out import LeftOut
from crx.ingest.readers.sheet_xlsx import open_xlsx, read_sheet
from crx.ingest.readers.xml_package import Archive

NUMBERS = (
    "General", "0", "0.00", "#,##0", "#,##0.00", "0%", "0.00%", "0.00E+00", "##0.0E+0", "@", "0.0%",
    "#,##0_);(#,##0)", "#,##0.00_);(#,##0.00)", '"$"#,##0.00', "[$€-407] #,##0.00", "0.###",
    "[$£-809]#,##0.00;[Red]-[$£-809]#,##0.00", '#,##0.0,,"M"', "[<1]0.00%;[>=1000]#,##0;0.0",
    '_($* #,##0.00_);_($* (#,##0.00);_($* "-"??_);_(@_)', "+0.0;-0.0;0",
)  # fmt: skip
CODES = ("00000", "000-00-0000", "(000) 000-0000", '"No. "0')
FRACTIONS = ("# ?/?", "# ??/??", "# ?/8")
DATES = ("d-mmm-yy", "d-mmm", "mmm-yy", "yyyy-mm-dd", "dd.mm.yyyy", "dddd, d mmmm yyyy")
TIMES = (
    "h:mm AM/PM", "h:mm:ss AM/PM", "h:mm", "h:mm:ss", "mm:ss", "[h]:mm:ss", "yyyy-mm-dd hh:mm:ss",
)  # fmt: skip
TENTHS = ("mm:ss.0",)
FORMATS = (*NUMBERS, *CODES, *FRACTIONS, *DATES, *TIMES, *TENTHS)
CELLS = 6
# Tabs, UTF-8, cells as shown.
TARGET = "csv:Text - txt - csv (StarCalc):9,34,76,1,,0,false,true,true,false"


def draw(chance: random.Random, code: str) -> float:
    """Return a number of the kind that the format is for."""
    if code in CODES:
        return chance.randrange(10 ** chance.randrange(1, 11))
    if code in FRACTIONS:
        return chance.choice((chance.uniform(-9, 50), chance.randrange(100) / 8))
    if code in DATES:
        return round(chance.uniform(61, 60_000), chance.choice((0, 2, 5)))
    if code in TIMES:
        return round(chance.uniform(0, 30) * 86_400) / 86_400 + (61 if "yy" in code else 0)
    if code in TENTHS:
        return round(chance.uniform(0, 1) * 864_000) / 864_000
    return chance.choice((
        chance.uniform(-1, 1), chance.uniform(-1e6, 1e6), chance.randrange(-1000, 1000), 0,
        round(chance.uniform(0, 1e5), 2), round(chance.uniform(-100, 100), chance.randrange(8)),
        10 ** chance.uniform(-4, 10),
    ))  # fmt: skip


def write_workbook(path: Path, seed: int) -> None:
    """Write a row of numbers for each format."""
    chance = random.Random(seed)
    book = Workbook()
    sheet = book.active
    for row, code in enumerate(FORMATS, start=1):
        for column in range(1, CELLS + 1):
            sheet.cell(row, column, draw(chance, code)).number_format = code
    book.save(path)


def compare(path: Path, shown: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the format of each cell, its text in LibreOffice and that in crx."""
    book = open_xlsx(Archive(path.read_bytes()), LeftOut())
    ours = dict(read_sheet(book, *book.sheets[0], LeftOut()).rows())
    with shown.open(encoding="utf-8", newline="") as file:
        for row, (code, theirs) in enumerate(
            zip(FORMATS, csv.reader(file, delimiter="\t"), strict=True), start=1
        ):
            cells = [*ours.get(row, []), *[""] * CELLS]
            for text, own in zip(theirs, cells, strict=False):
                yield code, " ".join(text.split()), own


def main() -> None:
    """Print the share of the cells that are the same, and the formats with others."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workbooks", type=int, default=200)
    parser.add_argument("--json", default="")
    asked = parser.parse_args()
    cells, wrong, examples = 0, Counter[str](), dict[str, tuple[str, str]]()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        paths = [folder / f"{number:04}.xlsx" for number in range(asked.workbooks)]
        for number, path in enumerate(paths):
            write_workbook(path, number)
        command = ["soffice", "--headless", f"-env:UserInstallation=file://{folder}/profile"]
        options = ["--convert-to", TARGET, "--outdir", str(folder)]
        subprocess.run([*command, *options, *paths], check=True, capture_output=True)
        for path in paths:
            for code, theirs, own in compare(path, path.with_suffix(".csv")):
                cells += 1
                if theirs != own:
                    wrong[code] += 1
                    examples[code] = (theirs, own)
    share = 1 - wrong.total() / cells
    print(f"{processor()}, commit {commit()}\n")
    print(f"{len(FORMATS)} formats, {cells:,} cells: {share:.4f} as LibreOffice shows them")
    for code, count in wrong.most_common():
        print(f"{count:6}  {code}: {examples[code][0]!r} is {examples[code][1]!r}")
    if asked.json:
        figures = {"formats": len(FORMATS), "cells": cells, "share": round(share, 4)}
        write_results(asked.json, benchmark="number_formats", rounds=1, figures=figures)


if __name__ == "__main__":
    main()
