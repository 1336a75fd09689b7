"""The kinds of files, as far as a pass over a folder needs them: no reader is imported."""

from __future__ import annotations

from crx.errors import InputError
from crx.ingest.formats import ARCHIVES, COMPRESSIONS, suffix
from crx.ingest.found_file import FoundFile
from crx.ingest.paths import describe_os_error
from crx.ingest.readers import is_claimed
from crx.ingest.readers.data_runs import is_minified

# Bytes of a compressed file's content, if the caller sets no limit.
DEFAULT_MAX_BYTES = 64_000_000
_BLANKS = b" \t\r\n\f\v\xef\xbb\xbf\xff\xfe"


def is_archive(extension: str) -> bool:
    """Return whether files with this extension are archives; a reader may claim one of these."""
    return extension in ARCHIVES and not is_claimed(extension)


def is_archive_name(name: str) -> bool:
    """Return whether a file of this name is an archive, compressed or not."""
    extension = suffix(name)
    if extension in COMPRESSIONS:
        extension = suffix(name[: -len(extension)])
    return is_archive(extension)


def promises_text(found: FoundFile, data: bytes) -> bool:
    """Return True if a file without text is a failure: it was named, or its extension is a text's.

    Other files without text, minified and empty ones, are skipped.
    """
    if found.uri == found.root:
        return True
    extension = suffix(found.uri)
    return not is_empty(data) and is_claimed(extension) and not is_minified(data, extension)


def is_empty(data: bytes) -> bool:
    """Return whether the bytes are blanks and byte order marks alone."""
    return not data.strip(_BLANKS)


def failure_reason(error: InputError | OSError) -> str:
    """Return why an input could not be read, without its name."""
    return describe_os_error(error) if isinstance(error, OSError) else str(error)
