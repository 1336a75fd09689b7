"""Candidates for questions, and the choice among them."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from crx_evaluate.datasets import GoldSpan

Kind = Literal["link", "term", "option", "heading", "caption", "subject", "commit"]
KINDS: tuple[Kind, ...] = ("link", "term", "option", "heading", "caption", "subject", "commit")
# Kinds whose words stand beside their answer, as a user has them who looks a name up.
LOOKED_UP: frozenset[Kind] = frozenset(("term", "option"))

# Characters of a question.
MAX_QUESTION_CHARS = 120
# Letters of a question of one word in a script without blanks; others need two words.
_MIN_LETTERS = 4
_WORD = re.compile(r"[^\W_]+")
_BLANKLESS = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_ADDRESS = re.compile(r"\w+://|www\.|\S+@\S+\.\w")
# What stands before a heading in a list of contents, in its own line, and in its label.
_BEFORE = re.compile(
    r"[\s#=*+•–—-]*(?:(?:chapter|section|appendix|table|figure|listing)\b\s*)?"
    r"(?:(?:\d+|[A-Z])(?:\.\d+)*[.):]?\s+)?[\s–—:-]*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question, where it comes from, and a function that finds its answers.

    `target` names what is asked for: candidates with the same words and another target are
    ambiguous. `name` is what the document is called, with which an ambiguous term can be asked for.
    `uri` is the document that the question is from, `answered_in` the one that answers. `answers`
    returns no span if the answer is not found in its text. `cut_from` are the documents in which
    `query` is removed wherever it stands. Lines of any document that consist of `query` are
    removed, too, unless the kind is one that is looked up.
    """

    kind: Kind
    query: str
    uri: str
    answered_in: str
    target: str
    answers: Callable[[], tuple[GoldSpan, ...]]
    name: str = ""
    cut_from: tuple[str, ...] = ()


def line_key(line: str) -> str:
    """Return what lines with the same words have in common: their letters, without a number."""
    match = _BEFORE.match(line)
    return "".join(_WORD.findall(line[match.end() if match else 0 :])).casefold()


def without_number(label: str) -> str:
    """Return a heading or a caption without its number."""
    match = _BEFORE.match(label)
    return label[match.end() if match else 0 :].strip()


def is_question(query: str) -> bool:
    """Return whether a text says enough to be searched for: two words, or four letters of Han."""
    if len(query) > MAX_QUESTION_CHARS or _ADDRESS.search(query):
        return False
    words = _WORD.findall(query)
    if _BLANKLESS.search(query):
        return sum(map(len, words)) >= _MIN_LETTERS
    return sum(len(word) > 1 for word in words) >= 2


def drop_ambiguous(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return one candidate for each question that has one target, with the answers of all.

    A term or an option that several documents define is asked for with the name of its document.
    """
    named = [_with_name(group) for group in _by_words(candidates).values()]
    asked = _by_words(each for group in named for each in group)
    return [_join(group) for group in asked.values() if len({each.target for each in group}) == 1]


def choose(candidates: Sequence[Candidate], *, seed: int) -> Iterator[Candidate]:
    """Yield all candidates: each kind in turn, and of a kind each document in turn."""
    kinds = [
        _take_turns([each for each in candidates if each.kind == kind], seed) for kind in KINDS
    ]
    return _round_robin(kinds)


def _take_turns(candidates: Sequence[Candidate], seed: int) -> list[Candidate]:
    by_document: dict[str, list[Candidate]] = defaultdict(list)
    for each in candidates:
        by_document[each.uri].append(each)
    groups = [by_document[uri] for uri in sorted(by_document)]
    for group in groups:
        group.sort(key=lambda each: (each.query, each.target))
        random.Random(f"{seed}:{group[0].uri}").shuffle(group)
    random.Random(seed).shuffle(groups)
    return list(_round_robin(groups))


def _round_robin(groups: Sequence[Sequence[Candidate]]) -> Iterator[Candidate]:
    for turn in range(max(map(len, groups), default=0)):
        yield from (group[turn] for group in groups if turn < len(group))


def _by_words(candidates: Iterable[Candidate]) -> dict[tuple[Kind, str], list[Candidate]]:
    groups: dict[tuple[Kind, str], list[Candidate]] = defaultdict(list)
    for each in candidates:
        groups[each.kind, " ".join(each.query.split()).casefold()].append(each)
    return groups


def _join(group: Sequence[Candidate]) -> Candidate:
    """Return the first of candidates with one target, with all that answer and all to be cut."""
    answers = {each.answered_in: each.answers for each in group}
    return replace(
        group[0],
        answers=lambda: tuple(span for answer in answers.values() for span in answer()),
        cut_from=tuple(sorted({uri for each in group for uri in each.cut_from})),
    )


def _with_name(group: Sequence[Candidate]) -> Sequence[Candidate]:
    if group[0].kind not in LOOKED_UP or len({each.target for each in group}) == 1:
        return group
    return [replace(each, query=f"{each.name} {each.query}") for each in group if each.name]
