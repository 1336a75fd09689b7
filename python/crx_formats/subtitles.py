"""Reader of subtitles and transcripts, SubRip and WebVTT: the words, each caption at its time.

A caption is a line of the text and a mark whose label is the time at which it begins. Numbers,
styles, positions and comments are left out, as are captions that repeat the one before. In WebVTT a
voice (`<v Ann>`) precedes the words.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from crx.errors import InputError, NothingToRead
from crx.ingest.readers.decode import decode
from crx.ingest.readers.text_builder import TextBuilder
from crx.types import Document

extensions = (".srt", ".vtt")

_TIMES = re.compile(
    r"^[ \t]*(?:(\d{1,3}):)?(\d{1,2}):(\d\d)[.,]\d{1,3}[ \t]*-->[ \t]*[\d:.,]+[^\n]*$", re.MULTILINE
)
# Longer names, and tags of more classes, are not those of a voice.
_VOICE = re.compile(r"<v(?:\.[^ >]{0,200})?[ \t]{1,9}([^>]{0,200})>")
_TAG = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the words with the times of their captions."""
    decoded = decode(data)
    text = TextBuilder()
    before = ""
    captions = decoded.text
    times = list(_TIMES.finditer(captions))
    for number, match in enumerate(times):
        end = times[number + 1].start() if number + 1 < len(times) else len(captions)
        words = _words(captions[match.end() : end])
        if words and words != before:
            hours, minutes, seconds = (int(part or 0) for part in match.groups())
            text.begin("time", f"{hours:02}:{minutes:02}:{seconds:02}")
            text.add(words, gap="\n")
            before = words
    if not text:
        reason = "has no captions with times"
        raise NothingToRead(reason) if captions.strip() == "WEBVTT" else InputError(reason)
    extension = name.rpartition(".")[2].lower()
    yield text.build(name, title="", metadata={**decoded.metadata(), "format": extension})


def _words(written: str) -> str:
    """Return a caption as one line: the text up to the next blank line, without markup."""
    caption = written.removeprefix("\n").partition("\n\n")[0]
    voiced = _VOICE.sub(r"\1: ", caption)
    return " ".join(html.unescape(_TAG.sub("", voiced)).split())
