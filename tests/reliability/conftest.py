"""The effort of each harness, printed with its seed at the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fault_injection.effort import Effort

_EFFORTS = pytest.StashKey[list[Effort]]()
# The name under which a report carries it from another process of pytest-xdist.
_EFFORT = "effort"


@pytest.fixture
def effort(request: pytest.FixtureRequest) -> Iterator[Effort]:
    """The seed and the number of runs of this harness."""
    effort = Effort.of(request.node.name)
    request.config.stash.setdefault(_EFFORTS, []).append(effort)
    yield effort
    request.node.user_properties.append((_EFFORT, effort.describe()))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for effort in config.stash.get(_EFFORTS, []):
        terminalreporter.write_line(effort.describe())
    for report in terminalreporter.stats.get("", []):
        # A report of the teardown, which is the last of a test, from another process.
        if report.when == "teardown" and hasattr(report, "node"):
            for name, value in report.user_properties:
                if name == _EFFORT:
                    terminalreporter.write_line(value)
