"""The effort of each harness, printed with its seed at the end."""

from __future__ import annotations

import pytest
from fault_injection.effort import Effort

_EFFORTS = pytest.StashKey[list[Effort]]()


@pytest.fixture
def effort(request: pytest.FixtureRequest) -> Effort:
    """The seed and the number of runs of this harness."""
    effort = Effort.of(request.node.name)
    request.config.stash.setdefault(_EFFORTS, []).append(effort)
    return effort


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for effort in config.stash.get(_EFFORTS, []):
        terminalreporter.write_line(effort.describe())
