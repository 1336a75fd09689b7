"""Supervision of a child process: its start, refusal, replacement and end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator

import pytest
from forked import call_in_fork

from crx.workers.child import Child
from crx.workers.messages import ChildLost
from crx.workers.supervisor import ChildRefused, Supervisor

# A child that is `ready`, or says what its opening asks it to, and answers with its process id.
CHILD = """
import os
from crx.workers.parent import Parent
parent = Parent()
opening = parent.receive()
parent.send(opening.get("answer", {"op": "ready", "answers": opening["op"]}))
while (message := parent.receive()) is not None:
    parent.send({"op": "heartbeat"})
    parent.send({"op": "pid", "pid": os.getpid()})
"""


def supervisor(**opening: object) -> Supervisor:
    return Supervisor((sys.executable, "-c", CHILD), dict(opening))


@pytest.fixture
def ready() -> Iterator[Supervisor]:
    supervised = supervisor()
    yield supervised
    supervised.close()


def ask(child: Child) -> int:
    child.send({}, timeout_s=60)
    pid: int = child.receive_reply(timeout_s=60)["pid"]
    return pid


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_child_is_opened_once_and_answers(ready: Supervisor) -> None:
    assert ready.child is None
    assert ready.start() == {"op": "ready", "answers": "open"}
    pids = {ask(ready.take()) for _ in range(3)}
    assert ready.child is not None
    assert pids == {ready.child.pid}
    assert ready.tasks == 3


def test_a_child_that_refuses_says_why_and_is_ended() -> None:
    supervised = supervisor(answer={"op": "refused", "why": "no such model"})
    with pytest.raises(ChildRefused, match=r"^no such model$"):
        supervised.take()
    assert supervised.child is None


@pytest.mark.parametrize("answer", [{"op": "pid"}, {"op": "refused"}, {"why": "none"}])
def test_another_answer_than_ready_is_a_loss_of_the_child(answer: dict[str, object]) -> None:
    supervised = supervisor(answer=answer)
    with pytest.raises(ChildLost, match="an answer out of turn"):
        supervised.take()
    assert supervised.child is None


def test_a_child_that_was_closed_or_killed_is_started_again(ready: Supervisor) -> None:
    first = ask(ready.take())
    ready.close()
    assert not is_running(first)
    second = ask(ready.take())
    os.kill(second, signal.SIGKILL)
    with pytest.raises(ChildLost, match="killed"):
        ask(ready.take())
    ready.close()
    assert ask(ready.take()) not in (first, second)


def test_a_start_that_is_interrupted_leaves_no_child(
    ready: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(child: Child, *, timeout_s: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Child, "receive_reply", interrupt)
        with pytest.raises(KeyboardInterrupt):
            ready.take()
    assert ready.child is None
    assert ask(ready.take()) > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_starts_a_child_of_its_own_and_leaves_that_of_its_parent(
    ready: Supervisor,
) -> None:
    def ask_and_close() -> int:
        pid = ask(ready.take())
        ready.close()
        return pid

    own = ask(ready.take())
    assert call_in_fork(ask_and_close) != own
    assert ask(ready.take()) == own
