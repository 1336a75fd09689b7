"""Search of several index folders for one ranking."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from crx._index.file_searcher import FileSearcher
from crx._index.reader import IndexReader, describe_empty, open_reader
from crx.errors import IndexFailure, NotAnIndex
from crx.registry import NO_EMBEDDER
from crx.retrieve.request import SearchRequest
from crx.retrieve.search import run_search
from crx.types import Note, Passage, Result
from crx_engines.folder.joint_snapshot import JointSearcher


class JointResult(NamedTuple):
    """The result of a search of several indexes, and the position of each passage's index.

    Keys of hits are those of their index.
    """

    result: Result
    indexes: tuple[int, ...]


def can_search_jointly(indexes: Sequence[IndexReader]) -> bool:
    """Return whether the vectors of indexes compare: all of one embedder; some may have none."""
    built = [index.settings for index in indexes]
    embedders = {
        each.get("embedder_fingerprint", each["embedder"])
        for each in built
        if each["embedder"] != NO_EMBEDDER
    }
    return len(embedders) < 2


def search_jointly(
    indexes: Sequence[IndexReader],
    request: SearchRequest,
    *,
    names: Sequence[str],
) -> JointResult:
    """Return the passages of all indexes that answer a query, best first.

    The first index that has an embedder gives the models and weights. Notes on one index begin
    with its name. An index that is gone or damaged becomes a note, unless all
    are: then the error of the first is raised.
    """
    with contextlib.ExitStack() as stack:
        searchers: list[FileSearcher] = []
        positions: list[int] = []
        notes: list[Note] = []
        failures: list[NotAnIndex | IndexFailure] = []
        for at, (index, name) in enumerate(zip(indexes, names, strict=True)):
            try:
                searcher, own_notes = stack.enter_context(index.searching())
            except (NotAnIndex, IndexFailure) as error:
                failures.append(error)
                notes.append(Note(str(error)))
                continue
            searchers.append(searcher)
            positions.append(at)
            notes += [Note(f"{name}: {note}", Note.of(note).kind) for note in own_notes]
        if not searchers:
            raise failures[0]
        opened = [indexes[at] for at in positions]
        with_vectors = [each for each in opened if each.settings["embedder"] != NO_EMBEDDER]
        first = (with_vectors or opened)[0]
        joint = JointSearcher.over(searchers)
        parameters = first.search_models.parameters(
            request, has_vectors=first.uses_vectors(request.legs, searchers)
        )
        found = run_search(request, parameters=parameters, searcher=joint)
        folder_of = joint.snapshot.folder_of
        passages = tuple(_with_own_keys(each, joint) for each in found.passages)
        result = replace(
            found,
            passages=passages,
            hits=tuple(replace(hit, key=folder_of(hit.key)[1]) for hit in found.hits),
            notes=(*notes, *found.notes, *describe_empty(found, searchers)),
        )
        at_passages = (positions[folder_of(each.hits[0].key)[0]] for each in found.passages)
        return JointResult(result, tuple(at_passages))


def search_all(
    paths: Sequence[Path], request: SearchRequest, *, settings: Mapping[str, object]
) -> JointResult:
    """Return the passages of all indexes: in one ranking, or by turns if vectors do not compare.

    One that is gone or damaged is a note, unless all are.
    """
    with contextlib.ExitStack() as stack:
        opened: dict[int, IndexReader] = {}
        notes: list[Note] = []
        for at, path in enumerate(paths):
            try:
                opened[at] = stack.enter_context(open_reader(path, settings=settings))
            except (NotAnIndex, IndexFailure) as error:
                if len(notes) == len(paths) - 1:
                    raise
                notes.append(Note(str(error)))
        found = _search_opened(list(opened.values()), request)
    result = replace(found.result, notes=(*notes, *found.result.notes))
    return JointResult(result, tuple(list(opened)[at] for at in found.indexes))


def _search_opened(indexes: Sequence[IndexReader], request: SearchRequest) -> JointResult:
    names = [index.name for index in indexes]
    if can_search_jointly(indexes):
        return search_jointly(indexes, request, names=names)
    shares = share_hits(request.k or indexes[0].configuration.k, indexes=len(indexes))
    results = [index.run(replace(request, k=k)) for index, k in zip(indexes, shares, strict=False)]
    by_turns = take_turns([result.passages for result in results])
    passages = tuple(passage for _, passage in by_turns)
    notes = [
        Note(f"{name}: {note}", Note.of(note).kind)
        for name, result in zip(names, results, strict=False)
        for note in result.notes
    ]
    notes.append(Note("the indexes have different embedders; each gives a passage by turns"))
    hits = tuple(hit for passage in passages for hit in passage.hits)
    return JointResult(Result(passages, hits, tuple(notes)), tuple(at for at, _ in by_turns))


def share_hits(k: int, *, indexes: int) -> list[int]:
    """Return how many of k chunks or files each index gives.

    If there are more than k indexes, the first k give one each, and the others are left out.
    """
    return [k // indexes + (at < k % indexes) for at in range(min(indexes, k))]


def take_turns(lists: Sequence[Sequence[Passage]]) -> list[tuple[int, Passage]]:
    """Return the first passage of each list, then the second of each, with the list's position."""
    longest = max(map(len, lists), default=0)
    return [
        (position, passages[at])
        for at in range(longest)
        for position, passages in enumerate(lists)
        if at < len(passages)
    ]


def _with_own_keys(passage: Passage, joint: JointSearcher) -> Passage:
    own = (replace(hit, key=joint.snapshot.folder_of(hit.key)[1]) for hit in passage.hits)
    return replace(passage, hits=tuple(own))
