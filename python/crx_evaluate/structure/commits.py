"""Candidates from the history of a git repository: messages of commits, and files they changed."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from crx.errors import SystemFailure
from crx.types import Document
from crx_evaluate.datasets import GoldSpan
from crx_evaluate.structure.answers import pieces
from crx_evaluate.structure.candidates import Candidate, is_question

# Commits of a repository that are read, the newest first.
_MOST_COMMITS = 3_000
# Files that a commit may change and still be about one thing.
_MOST_FILES = 5
_TIMEOUT_S = 60
_ROUTINE = re.compile(r"merge|revert|release|bump|version|update changelog|v?\d+[.\d]*", re.I)
# What a repository's own settings would have git run or fetch.
_SAFE = ("-c", "log.showSignature=false", "-c", "core.fsmonitor=false", "-c", "log.mailmap=false")
_ENVIRONMENT = {"GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}


def commit_candidates(documents: Mapping[str, Document]) -> Iterator[Candidate]:
    """Yield a question for each commit that changed a few files, of which one is a document.

    Raises `SystemFailure` if git cannot read a repository.
    """
    for root in _repositories(documents):
        for revision, subject, files in _log(root):
            changed = [f"{root}/{file}" for file in files]
            answering = [documents[uri] for uri in changed if uri in documents]
            if answering and len(files) <= _MOST_FILES and _is_telling(subject):
                yield Candidate(
                    "commit",
                    subject,
                    answering[0].uri,
                    answering[0].uri,
                    target=revision,
                    answers=partial(_changed_pieces, tuple(answering), subject),
                )


def _is_telling(subject: str) -> bool:
    return is_question(subject) and not _ROUTINE.match(subject)


def _repositories(uris: Iterable[str]) -> list[str]:
    """Return the roots of the repositories that files are in."""
    known: dict[str, str] = {}
    for uri in uris:
        if os.path.isabs(uri):
            _find_root(uri.rpartition("/")[0], known)
    return sorted({root for root in known.values() if root})


def _find_root(folder: str, known: dict[str, str]) -> str:
    """Return the root of the repository that a folder is in, or ""."""
    if folder not in known:
        if Path(folder or "/", ".git").exists():  # a file in a worktree
            known[folder] = folder
        else:
            above = folder.rpartition("/")[0]
            known[folder] = _find_root(above, known) if folder else ""
    return known[folder]


def _log(root: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield revision, subject and changed files of the newest commits."""
    command = ["git", *_SAFE, "-C", root, "log", f"-{_MOST_COMMITS}", "--no-merges"]
    command += ["--name-only", "--relative", "-z", "--format=%x01%H%x01%s%x01"]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            check=True,
            timeout=_TIMEOUT_S,
            env={**os.environ, **_ENVIRONMENT},
        )
    except FileNotFoundError:
        raise SystemFailure(f"{root}: git is not installed, which reads its history") from None
    except subprocess.TimeoutExpired:
        raise SystemFailure(f"{root}: git log took more than {_TIMEOUT_S} seconds") from None
    except subprocess.CalledProcessError as failed:
        reason = failed.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise SystemFailure(f"{root}: git cannot read its history: {reason}") from None
    fields = done.stdout.decode("utf-8", errors="replace").split("\x01")[1:]
    for revision, subject, files in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
        yield revision, subject.strip(), [file for file in files.strip("\0\n").split("\0") if file]


def _changed_pieces(documents: tuple[Document, ...], subject: str) -> tuple[GoldSpan, ...]:
    """Return the pieces of the files without those that quote the message, such as a changelog."""
    return tuple(
        span
        for document in documents
        if subject.casefold() not in document.text.casefold()
        for span in pieces(document, 0, len(document.text))
    )
