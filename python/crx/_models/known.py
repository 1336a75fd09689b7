"""Models of the Hugging Face Hub that fit, with the figures of their authors (`known.json`).

None of their weights was run. `work` is the processor time of a token against that of e5, both in
int8: measured for granite-97m and static embedders, for others computed from their parameters.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from crx._models.card import ModelKind
from crx._models.pinned_wheels import PINNED_WHEELS
from crx._models.store import normalize_name


class KnownModel(NamedTuple):
    """A model of the hub; what is not known of it is None or "".

    `languages` is a code or how many there are, `score` is that of a benchmark by a source.
    """

    repository: str
    kind: ModelKind
    dimensions: int | None
    max_tokens: int | None
    languages: str
    licence: str
    score: float | None
    benchmark: str
    source: str
    work: float | None

    def times_slower(self, other: KnownModel) -> float:
        """Return how many times the work of another model a token takes."""
        return (self.work or 1) / (other.work or 1)


def known_models() -> list[KnownModel]:
    """Return all of them."""
    path = Path(__file__).with_name("known.json")
    return [KnownModel(**each) for each in json.loads(path.read_bytes())]


def find_better_embedder(
    name: str, *, langs: Iterable[str], most_times_slower: float
) -> tuple[KnownModel, KnownModel] | None:
    """Return the embedder that scores best where that of the name does, and what is known of both.

    It reads all languages, and takes at most so many times the work.
    """
    titles = {pin.model: normalize_name(pin.title) for pin in PINNED_WHEELS}
    name = name.partition("@")[0]
    by_name = {normalize_name(each.repository.rpartition("/")[2]): each for each in known_models()}
    own = by_name.get(titles.get(name, name))
    if own is None or own.score is None:
        return None
    better = [
        each
        for each in by_name.values()
        if (each.kind, each.benchmark) == ("embedder", own.benchmark)
        and (each.score or 0) > own.score
        and each.times_slower(own) <= most_times_slower
        and (each.languages != "en" or set(langs) <= {"en"})
    ]
    return (max(better, key=lambda each: each.score or 0), own) if better else None
