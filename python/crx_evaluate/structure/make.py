"""A question set that is made from the structure of documents."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from crx.errors import InputError, SystemFailure
from crx.ingest.file_kinds import failure_reason
from crx.types import Document
from crx_evaluate.datasets import Gold, GoldSpan, Query
from crx_evaluate.questions import SEED
from crx_evaluate.structure.candidates import (
    KINDS,
    LOOKED_UP,
    Candidate,
    Kind,
    choose,
    drop_ambiguous,
    line_key,
)
from crx_evaluate.structure.commits import commit_candidates
from crx_evaluate.structure.hiding import Cuts, find_cuts, hide, holds_in_a_row, move
from crx_evaluate.structure.pages import page_candidates
from crx_evaluate.structure.texts import captions, headings, man_terms, subjects

# Of so many questions, one more is made.
SPARE = 10


@dataclass(frozen=True, slots=True)
class StructureQuestion:
    """A question of a kind. It is exact if the document that answers has its words in a row."""

    kind: Kind
    query: Query
    exact: bool

    @property
    def row(self) -> dict[str, Any]:
        """The question as a line of `queries.jsonl`."""
        return {
            "query_id": self.query.id,
            "query": self.query.text,
            "kind": self.kind,
            "exact": self.exact,
            "gold": [asdict(gold) for gold in self.query.gold],
        }


@dataclass(frozen=True, slots=True)
class StructureSet:
    """Questions, and the documents without what these were made from; `notes` are warnings."""

    documents: tuple[Document, ...]
    questions: tuple[StructureQuestion, ...]
    notes: tuple[str, ...] = ()

    def count_kinds(self) -> dict[str, int]:
        """Return how many questions each kind has, in the order of `KINDS`."""
        counts = Counter(question.kind for question in self.questions)
        return {kind: counts[kind] for kind in KINDS if counts[kind]}


def make_questions(documents: Sequence[Document], *, count: int, seed: int = SEED) -> StructureSet:
    """Return up to `count` questions about documents whose URIs are the paths of their files.

    The choice depends on the documents and the seed alone.
    """
    # A few are lost, since their answer held what another one was made from.
    chosen, notes = choose_questions(documents, count=count + count // SPARE + 1, seed=seed)
    lines = {line_key(each.query) for each, _ in chosen if each.kind not in LOOKED_UP}
    words: dict[str, list[str]] = defaultdict(list)
    for each, _ in chosen:
        for uri in each.cut_from:
            words[uri].append(each.query)
    cuts = find_cuts(documents, lines=lines, words=words)
    hidden = {
        document.uri: hide(document, cuts.get(document.uri), lines=lines, words=words[document.uri])
        for document in documents
    }
    questions = tuple(islice(_remaining(chosen, cuts, hidden), count))
    return StructureSet(tuple(hidden.values()), questions, tuple(notes))


def choose_questions(
    documents: Sequence[Document], *, count: int, seed: int = SEED
) -> tuple[list[tuple[Candidate, tuple[GoldSpan, ...]]], list[str]]:
    """Return up to `count` candidates with their answers in documents as they are, and notes."""
    by_uri = {document.uri: document for document in documents}
    notes: list[str] = []
    candidates = drop_ambiguous(find_candidates(by_uri, notes))
    answered = ((each, each.answers()) for each in choose(candidates, seed=seed))
    return list(islice(((each, spans) for each, spans in answered if spans), count)), notes


def find_candidates(documents: Mapping[str, Document], notes: list[str]) -> Iterator[Candidate]:
    unread: list[str] = []
    for document in documents.values():
        for find in (headings, captions, man_terms, subjects):
            yield from find(document)
        try:
            yield from page_candidates(document, documents)
        except (OSError, InputError) as error:
            unread.append(f"{document.uri}: {failure_reason(error)}")
    if unread:
        notes.append(f"pages whose links and lists are not read: {len(unread)}; {unread[0]}")
    try:
        yield from commit_candidates(documents)
    except SystemFailure as failed:
        notes.append(str(failed))


def _remaining(
    chosen: Sequence[tuple[Candidate, tuple[GoldSpan, ...]]],
    cuts: Mapping[str, Cuts],
    hidden: Mapping[str, Document],
) -> Iterator[StructureQuestion]:
    """Yield the questions of whose answers more than half is left."""
    for number, (candidate, spans) in enumerate(chosen, start=1):
        moved = (move(span, cuts.get(span.doc_id), hidden[span.doc_id]) for span in spans)
        left = tuple(
            new
            for old, new in zip(spans, moved, strict=True)
            if 2 * (new.end - new.start) > old.end - old.start
        )
        if left:
            answering = (hidden[uri] for uri in {span.doc_id for span in left})
            query = Query(str(number), candidate.query, (Gold(left),))
            exact = candidate.kind in LOOKED_UP or any(
                holds_in_a_row(f"{each.title}\n{each.text}", candidate.query) for each in answering
            )
            yield StructureQuestion(candidate.kind, query, exact)
