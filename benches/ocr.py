"""Recognition of text in rendered pages: `rapidocr` as crx calls it, pylopdf and tesseract.

    pip install "crx[ocr]" "pylopdf[ocr]" pillow
    python benches/ocr.py LANG=FILE... [--pages 42] [--engines NAME...] [--json FILE]

A FILE is plain text in one language. Its next lines are drawn on a page of A4 at 200 pixels an
inch, in 10 to 13 points, with fonts of Debian (`fonts-dejavu`, `fonts-liberation`,
`fonts-noto-cjk`). The pages of a language take turns: as drawn, turned by 1 to 2 degrees, with
noise, blur and JPEG's artefacts, turned and noisy. The score is the share of the page's words, with
their counts, that an engine gives; of Chinese and Japanese, the share of the pairs of characters.
tesseract is told the language. The times are those of the processor, without an engine's first
page; tesseract starts a process for each page.
"""

from __future__ import annotations

import argparse
import io
import itertools
import random
import re
import resource
import subprocess
import textwrap
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from harness import write_results
from PIL import Image, ImageDraw, ImageFilter, ImageFont

WIDTH, HEIGHT, MARGIN, DPI = 1654, 2339, 150, 200
FONTS = {
    "zh": ("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",),
    "ja": ("/usr/share/fonts/opentype/noto/NotoSerifCJK-Regular.ttc",),
}
LATIN = (
    "/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf",
    "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
)
TESSERACT = {"en": "eng", "fr": "fra", "de": "deu", "vi": "vie", "zh": "chi_sim", "ja": "jpn"}
KINDS = ("plain", "turned", "noisy", "turned and noisy")

# The PNG of a page and its language.
Recognize = Callable[[bytes, str], str]


@dataclass(frozen=True, slots=True)
class Page:
    """A drawn page."""

    lang: str
    kind: str
    text: str
    png: bytes


def draw_pages(lang: str, text: str, pages: int, chance: random.Random) -> Iterator[Page]:
    """Yield pages of a text, of each kind in turn."""
    paragraphs = [" ".join(each.split()) for each in re.split(r"\n\s*\n", text) if each.strip()]
    for number in range(pages):
        points = chance.uniform(10, 13)
        font = ImageFont.truetype(chance.choice(FONTS.get(lang, LATIN)), round(points * DPI / 72))
        advance = font.getlength("国国国国" if lang in FONTS else "eine") / 4
        columns = int((WIDTH - 2 * MARGIN) / advance)
        height = round(points * DPI / 72 * 1.5)
        lines: list[str] = []
        while paragraphs and len(lines) < (HEIGHT - 2 * MARGIN) // height:
            paragraph = paragraphs.pop(0)
            lines += [*_lines(paragraph, columns, is_spaced=lang not in FONTS), ""]
        lines = lines[: (HEIGHT - 2 * MARGIN) // height]
        image = Image.new("L", (WIDTH, HEIGHT), 255)
        canvas = ImageDraw.Draw(image)
        for at, line in enumerate(lines):
            canvas.text((MARGIN, MARGIN + at * height), line, font=font, fill=20)
        kind = KINDS[number % len(KINDS)]
        yield Page(lang, kind, "\n".join(lines), _spoil(image, kind, chance))


def _lines(paragraph: str, columns: int, *, is_spaced: bool) -> list[str]:
    if is_spaced:
        return textwrap.wrap(paragraph, columns, break_on_hyphens=False)
    return [paragraph[at : at + columns] for at in range(0, len(paragraph), columns)]


def _spoil(image: Image.Image, kind: str, chance: random.Random) -> bytes:
    """Return the PNG of a page that is turned or made noisy, as its kind says."""
    if "turned" in kind:
        angle = chance.uniform(1, 2) * chance.choice((-1, 1))
        image = image.rotate(angle, Image.Resampling.BICUBIC, fillcolor=255)
    if "noisy" in kind:
        image = image.filter(ImageFilter.GaussianBlur(0.7))
        noise = np.random.default_rng(chance.randrange(2**31)).normal(0, 18, (HEIGHT, WIDTH))
        image = Image.fromarray(np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8))
        packed = io.BytesIO()
        image.save(packed, "JPEG", quality=50)
        image = Image.open(packed)
    written = io.BytesIO()
    image.convert("RGB").save(written, "PNG")
    return written.getvalue()


def units(text: str, lang: str) -> Counter[str]:
    """Return the words of a text with their counts, or its pairs of characters."""
    text = unicodedata.normalize("NFKC", text)
    if lang in FONTS:
        characters = "".join(re.findall(r"\w", text))
        return Counter(a + b for a, b in itertools.pairwise(characters))
    return Counter(re.findall(r"\w+", text))


def share(page: Page, given: str) -> float:
    """Return how much of a page's text an engine gives."""
    wanted = units(page.text, page.lang)
    return (wanted & units(given, page.lang)).total() / wanted.total()


def make_rapidocr() -> Recognize:
    """Return crx's own call of rapidocr."""
    from crx.ingest.readers.scan import load_recognizer

    recognize = load_recognizer()
    return lambda png, _: recognize(png)


def make_pylopdf() -> Recognize:
    """Return pylopdf's engine, which runs PP-OCRv6 in Rust, over a PDF of the image."""
    import pylopdf

    engine = pylopdf.OcrEngine(threads=2)

    def recognize(png: bytes, _: str) -> str:
        packed = io.BytesIO()
        Image.open(io.BytesIO(png)).save(packed, "PDF", resolution=DPI)
        with pylopdf.open(stream=packed.getvalue()) as document:
            words = document[0].get_text_ocr(dpi=DPI, engine=engine)
            return "\n".join(word["text"] for word in words)

    return recognize


def make_tesseract() -> Recognize:
    """Return a call of Debian's tesseract."""

    def recognize(png: bytes, lang: str) -> str:
        command = ["tesseract", "-", "-", "-l", TESSERACT[lang], "--dpi", str(DPI)]
        return subprocess.run(command, input=png, capture_output=True, check=True).stdout.decode()

    return recognize


ENGINES: Mapping[str, Callable[[], Recognize]] = {
    "rapidocr": make_rapidocr,
    "pylopdf": make_pylopdf,
    "tesseract": make_tesseract,
}


def cpu_seconds() -> float:
    """Return the seconds of the processor that this process and its children took."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> None:
    """Draw the pages, let each engine read them, and print a row an engine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="+", metavar="LANG=FILE")
    parser.add_argument("--pages", type=int, default=42)
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--json")
    options = parser.parse_args()
    chance = random.Random(0)
    texts = dict(each.split("=", 1) for each in options.texts)
    pages = [
        page
        for lang, file in texts.items()
        for page in draw_pages(
            lang, Path(file).read_text(encoding="utf-8"), options.pages // len(texts), chance
        )
    ]
    figures: dict[str, object] = {"pages": len(pages)}
    for name in options.engines:
        recognize = ENGINES[name]()
        recognize(pages[0].png, pages[0].lang)
        shares: dict[str, list[float]] = {}
        started, clock = cpu_seconds(), time.monotonic()
        for page in pages:
            found = share(page, recognize(page.png, page.lang))
            for group in ("all", page.lang, page.kind):
                shares.setdefault(group, []).append(found)
        cpu = (cpu_seconds() - started) / len(pages)
        figures[name] = {
            "cpu_s": round(cpu, 2),
            "clock_s": round((time.monotonic() - clock) / len(pages), 2),
            **{group: round(sum(each) / len(each), 3) for group, each in shares.items()},
        }
        print(name, figures[name], flush=True)
    if options.json:
        write_results(options.json, benchmark="ocr", rounds=1, figures=figures)


if __name__ == "__main__":
    main()
