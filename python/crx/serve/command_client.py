"""`crx search` answered by a running server of the same index, which also prints its answer.

The server parses the command line, searches and lays out the answer, so that this process starts
Python and imports little: no option parser, no native core, no numpy. Whatever is wrong with the
server (it is gone, is of another version, has other settings), or with the command line, the
command is run here as if there were no server.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping, Sequence

from crx.serve.nearest_index import nearest_index
from crx.serve.socket_places import installation, is_own, socket_places

# Paths below it are answered over the Unix socket alone.
LOCAL_PREFIX = "/local/"
COMMAND_PATH = f"{LOCAL_PREFIX}command"
INTERRUPTED = 130
# Seconds to wait for an answer; a search that takes longer is done again by the command.
ANSWER_S = 60.0
# Variables that decide how an answer looks, or where the user's settings are.
VARIABLES = (
    "COLUMNS", "HOME", "LINES", "NO_COLOR", "TERM", "TERM_PROGRAM", "WT_SESSION", "XDG_CONFIG_HOME",
)  # fmt: skip
_SECRETS = ("CRX_OPENAI_API_KEY", "CRX_TOKEN")


def answer_by_server(arguments: Sequence[str]) -> int | None:
    """Have a server answer a command line and print the answer; returns its exit code.

    Returns None, with nothing printed, for what no server answers.
    """
    if arguments[:1] != ["search"] or "--no-server" in arguments or not hasattr(os, "getuid"):
        return None
    try:
        answer = _ask(arguments)
    except OSError:  # a current folder that was removed
        return None
    except KeyboardInterrupt:
        _write(sys.stderr, "crx: interrupted; the same command resumes\n")
        return INTERRUPTED
    if answer is None:
        return None
    try:
        _write(sys.stdout, str(answer["out"]))
        _write(sys.stderr, str(answer["err"]))
    except BrokenPipeError:
        # The reader has gone, as in `| head`; what is buffered must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    code = answer["code"]
    assert isinstance(code, int)
    return code


def _ask(arguments: Sequence[str]) -> Mapping[str, object] | None:
    """Return the answer of a server of the index that is meant, None if none gives one."""
    here = os.getcwd()
    named = _named_index(arguments) or os.environ.get("CRX_INDEX")
    index = os.path.join(here, named) if named else nearest_index(here)
    places = [place for place in socket_places(index) if is_own(place)] if index else []
    if not places:
        return None
    # Imported here: other commands do not need them.
    import json

    try:
        body = json.dumps(describe_command(arguments, here=here)).encode()
    except ValueError:
        return None
    for place in places:
        try:
            status, answer = _post(place, body)
        except OSError:
            continue
        if status == 200:
            found: Mapping[str, object] = json.loads(answer)
            return found
    return None


def _named_index(arguments: Sequence[str]) -> str | None:
    """Return the value of --index; the server finds it in the command line again."""
    named = None
    for option, value in zip(arguments, [*arguments[1:], ""], strict=True):
        if option == "--index":
            named = value
        elif option.startswith("--index="):
            named = option.removeprefix("--index=")
    return named


def describe_command(arguments: Sequence[str], *, here: str) -> dict[str, object]:
    """Return the command line and all that its answer depends on."""
    own = (*VARIABLES, *(name for name in os.environ if name.startswith("CRX_")))
    return {
        "installation": installation(),
        "folder": here,
        "arguments": arguments[1:],
        "environ": {
            name: os.environ[name] for name in own if name in os.environ and name not in _SECRETS
        },
        "terminal": _terminal_size(),
    }


def _terminal_size() -> tuple[int, int] | None:
    """Return the columns and lines of standard output, 0 if unknown; None if it is no terminal."""
    if not sys.stdout.isatty():
        return None
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        return 0, 0
    return size.columns, size.lines


def _post(place: str, body: bytes) -> tuple[int, bytes]:
    """Return the status and the body of an answer; raises `OSError` if there is none."""
    # Imported here: a command without a server connects to none.
    import socket

    head = (
        f"POST {COMMAND_PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_S)
        connection.connect(place)
        connection.sendall(head.encode() + body)
        received = bytearray()
        while data := connection.recv(1 << 18):
            received += data
    headers, end, answer = bytes(received).partition(b"\r\n\r\n")
    if not end or len(answer) != _length(headers):
        raise OSError("the answer is cut off")
    return int(headers.split(maxsplit=2)[1]), answer


def _length(headers: bytes) -> int:
    for line in headers.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return -1


def _write(stream: object, text: str) -> None:
    """Write a text; a character that the stream cannot show is written as its code."""
    assert isinstance(stream, io.TextIOWrapper)
    stream.reconfigure(errors="backslashreplace")
    stream.write(text)
    stream.flush()
