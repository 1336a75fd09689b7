"""Tests of what an index remembers of its roots."""

from __future__ import annotations

from pathlib import Path

import pytest

from crx.ingest.discover import Discovery, Root
from crx.ingest.found_file import FoundFile
from crx.ingest.report import Failure
from crx.ingest.roots import RememberedRoots


def found(uri: str, *, root: str, changed_ns: int) -> FoundFile:
    return FoundFile(Path(uri), uri, root, 1, 0, changed_ns)


@pytest.mark.parametrize(("unreachable", "latest"), [((), 20), (("/docs/locked",), 10)])
def test_the_latest_change_of_a_root_that_was_read_in_part_stays(
    unreachable: tuple[str, ...], latest: int
) -> None:
    roots = [Root("/docs"), Root("/mail")]
    before = RememberedRoots(tuple(roots), changes={"/docs": 10, "/mail": 10})
    discovery = Discovery(
        files=[
            found("/docs/a.md", root="/docs", changed_ns=20),
            found("/mail/a.eml", root="/mail", changed_ns=30),
        ],
        unreachable=[Failure(uri, "Permission denied") for uri in unreachable],
    )
    after = before.after(roots, discovery)
    assert after.changes == {"/docs": latest, "/mail": 30}
