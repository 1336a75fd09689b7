"""The contract of engines: rules that a test suite checks, with the folder as the reference.

An engine of another package is tested by

    @pytest.mark.parametrize("rule", RULES, ids=str)
    def test_my_engine(rule: Rule) -> None:
        rule.check(lambda: MyEngine(new_database()))

A rule that is broken raises `BrokenRule`, which names the rule, what the engine gave and what the
folder gives.
"""

from __future__ import annotations

import contextlib
import inspect
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from crx_engines.engine.protocol import Engine, EngineSnapshot
from crx_engines.engine_contract.expectations import BrokenRule
from crx_engines.engine_contract.reading_rules import READING_RULES
from crx_engines.engine_contract.sample_documents import make_documents, make_settings
from crx_engines.engine_contract.writing_rules import WRITING_RULES
from crx_engines.folder.local_engine import LocalEngine


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the contract: a sentence about engines, and its check beside the folder."""

    text: str
    _check: Callable[[Engine, Engine], None]

    def __str__(self) -> str:
        return self.text

    def check(self, new_engine: Callable[[], Engine]) -> None:
        """Raise `BrokenRule` if an engine breaks the rule.

        `new_engine` returns an engine that holds no index yet.
        """
        with (
            tempfile.TemporaryDirectory(prefix="crx-contract-") as folder,
            contextlib.closing(LocalEngine(Path(folder, "index.crx"))) as reference,
            contextlib.closing(new_engine()) as engine,
        ):
            try:
                self._check(engine, reference)
            except BrokenRule as broken:
                raise BrokenRule(f"{self.text} {broken}") from None
            except Exception as error:
                raise BrokenRule(f"{self.text} {type(error).__name__}: {error}") from error


def _writing(check: Callable[[Engine], None]) -> Rule:
    """Return the rule of a check of an engine that holds no index yet."""
    return Rule(inspect.getdoc(check) or "", lambda engine, _: check(engine))


def _reading(check: Callable[[EngineSnapshot, EngineSnapshot], None]) -> Rule:
    """Return the rule of a check that compares snapshots of the same documents."""

    def compare(engine: Engine, folder: Engine) -> None:
        with _filled(engine) as found, _filled(folder) as expected:
            check(found, expected)

    return Rule(inspect.getdoc(check) or "", compare)


@contextlib.contextmanager
def _filled(engine: Engine) -> Iterator[EngineSnapshot]:
    engine.create(make_settings())
    engine.upsert(make_documents())
    engine.publish()
    with engine.snapshot() as snapshot:
        yield snapshot


RULES: tuple[Rule, ...] = (*map(_writing, WRITING_RULES), *map(_reading, READING_RULES))
