"""A Messages API on 127.0.0.1 with a real prefix cache, for tests.

Everything up to a block marked with `cache_control` is a prefix, cached by its hash. A prefix of
fewer tokens than the model's minimum is not cached. An entry can be read once the response that
wrote it has begun, until its time to live has passed since its last use. The requests of one batch
run at the same time, so that none reads what another one writes. Tokens are pieces of words of up
to four letters, signs and runs of white space.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qs, urlsplit

from local_server import Fault, JsonHandler, count_tokens, serving_with

KEY = "sk-test"
MINIMUM = {"claude-sonnet-5": 1024, "claude-haiku-4-5": 4096, "claude-opus-5": 512}
TTL_S = {"5m": 300.0, "1h": 3600.0}


@dataclass(frozen=True)
class Seen:
    """One request that was answered, and the usage that was reported."""

    body: dict[str, Any]
    usage: dict[str, Any]

    @property
    def marked(self) -> bool:
        return any("cache_control" in block for block in self.body["messages"][0]["content"])

    @property
    def prefix(self) -> str:
        return str(self.body["messages"][0]["content"][0]["text"])

    @property
    def text(self) -> str:
        return "".join(block["text"] for block in self.body["messages"][0]["content"])


def first_word(body: dict[str, Any]) -> str:
    """Return a context that names a word of the chunk, so that answers can be distinguished."""
    chunk = body["messages"][0]["content"][1]["text"].split("\n</chunk>")[0]
    word = next(iter(re.findall(r"[a-z]+", chunk)), "nothing")
    return f"the part of the whole that begins its tale with {word}"


class MessagesServer:
    """The state that a test sets and reads; `now` is the clock in seconds.

    Batches from number `held_from` on do not end. A stream is closed after `events_sent` events,
    None for all.
    """

    def __init__(self, *, answer: Callable[[dict[str, Any]], str] = first_word) -> None:
        self.answer = answer
        self.stop_reason: Callable[[dict[str, Any]], str] = lambda body: "end_turn"
        self.fault: Callable[[int, dict[str, Any]], Fault | None] = lambda n, body: None
        self.batch_fault: Fault | None = None
        self.broken = False
        self.events_sent: int | None = None
        self.gather = threading.Barrier(1)
        self.now = 0.0
        self.held_from = 1_000_000
        self.listed_at_once = 100
        self.seen: list[Seen] = []
        self.asked = 0
        self.most_at_once = 0
        self.batches: dict[str, Batch] = {}
        self._at_once = 0
        self._cache: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    @property
    def writes(self) -> dict[str, int]:
        """How often each prefix was written to the cache."""
        counts: dict[str, int] = {}
        for seen in self.seen:
            if seen.usage["cache_creation_input_tokens"]:
                counts[seen.prefix] = counts.get(seen.prefix, 0) + 1
        return counts

    def respond(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a single request."""
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            usage, entry = self._look_up(body)
        self.gather.wait(timeout=10)
        with self._lock:
            self._at_once -= 1
            self._begin(entry)
            return self._message(body, usage)

    def respond_together(self, bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the answers to a batch: all are looked up before any is answered."""
        with self._lock:
            looked_up = [self._look_up(body) for body in bodies]
            for _, entry in looked_up:
                self._begin(entry)
            return [
                self._message(body, usage)
                for body, (usage, _) in zip(bodies, looked_up, strict=True)
            ]

    def _look_up(self, body: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, float] | None]:
        blocks = body["messages"][0]["content"]
        total = sum(count_tokens(block["text"]) for block in blocks)
        marks = [i for i, block in enumerate(blocks) if "cache_control" in block]
        prefix = "".join(block["text"] for block in blocks[: marks[-1] + 1]) if marks else ""
        tokens = count_tokens(prefix)
        if tokens < max(1, MINIMUM[body["model"]]):
            return _usage(input_tokens=total), None
        key = hashlib.sha256(f"{body['model']}\0{prefix}".encode()).hexdigest()
        ttl = blocks[marks[-1]]["cache_control"].get("ttl", "5m")
        expires, life = self._cache.get(key, (-1.0, 0.0))
        if self.now < expires:
            self._cache[key] = (self.now + life, life)
            return _usage(input_tokens=total - tokens, read=tokens), None
        usage = _usage(input_tokens=total - tokens, written=tokens, ttl=ttl)
        return usage, (key, TTL_S[ttl])

    def _begin(self, entry: tuple[str, float] | None) -> None:
        if entry:
            self._cache[entry[0]] = (self.now + entry[1], entry[1])

    def _message(self, body: dict[str, Any], usage: dict[str, Any]) -> dict[str, Any]:
        text = self.answer(body)
        usage["output_tokens"] = count_tokens(text)
        self.seen.append(Seen(body, usage))
        return {
            "id": f"msg_{len(self.seen)}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [{"type": "text", "text": text}] if text else [],
            "stop_reason": self.stop_reason(body),
            "stop_sequence": None,
            "usage": usage,
        }


@dataclass
class Batch:
    requests: list[dict[str, Any]]
    polls: int = 0
    canceled: bool = False
    lines: list[dict[str, Any]] = field(default_factory=list)
    created: datetime = field(default_factory=lambda: datetime.now(timezone.utc))


def _usage(
    *, input_tokens: int, written: int = 0, read: int = 0, ttl: str = "5m"
) -> dict[str, Any]:
    return {
        "input_tokens": input_tokens,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": written if ttl == "5m" else 0,
            "ephemeral_1h_input_tokens": written if ttl == "1h" else 0,
        },
    }


def _objection(body: dict[str, Any]) -> tuple[int, str] | None:
    """Return the status and the message of a request that the service would refuse."""
    if body["model"] not in MINIMUM:
        return 404, f"model: {body['model']}"
    if body["model"] == "claude-opus-5" and {"temperature", "top_p", "top_k"} & set(body):
        return 400, "sampling parameters are not supported"
    if [m["role"] for m in body["messages"]] != ["user"]:
        return 400, "expected one user message"
    if not all(block["text"].strip() for block in body["messages"][0]["content"]):
        return 400, "text content blocks must contain non-whitespace text"
    return None


_ERROR = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def _error(status: int, message: str) -> dict[str, Any]:
    kind = _ERROR.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def _events(message: dict[str, Any], *, broken: bool) -> list[dict[str, Any]]:
    """Return a message as it is streamed, two words a piece; `broken` fails after the first."""
    (text,) = [block["text"] for block in message["content"]] or [""]
    begun = {**message, "content": [], "stop_reason": None}
    pieces: list[dict[str, Any]] = [
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": piece},
        }
        for piece in re.findall(r"\S+\s*\S*\s*", text)
    ]
    block = {"type": "text", "text": ""}
    started: list[dict[str, Any]] = [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": block},
    ]
    if broken:
        return [*started, *pieces[:1], _error(529, "too many at once")]
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    return [
        *started,
        *pieces,
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": delta, "usage": message["usage"]},
        {"type": "message_stop"},
    ]


class _Handler(JsonHandler[MessagesServer]):
    def do_POST(self) -> None:  # noqa: N802 - the name is http.server's
        body = self.body()
        service = self.service
        if not self._authorized():
            return self.send(401, _error(401, "invalid x-api-key"))
        if self.path == "/v1/messages/batches":
            return self._create_batch(body)
        if self.path.endswith("/cancel"):
            return self._cancel_batch(self.path.split("/")[-2])
        service.asked += 1
        fault = service.fault(service.asked, body)
        if fault and fault.status != 200:
            return self.send(fault.status, _error(fault.status, fault.message), fault.headers)
        if objection := _objection(body):
            return self.send(objection[0], _error(*objection))
        message = service.respond(body)
        if body.get("stream"):
            events = _events(message, broken=service.broken)[: service.events_sent]
            return self.send_events(events, fault=fault)
        return self.send(200, message, fault=fault)

    def do_GET(self) -> None:  # noqa: N802
        if not self._authorized():
            return self.send(401, _error(401, "invalid x-api-key"))
        parts = urlsplit(self.path).path.strip("/").split("/")
        if len(parts) == 3:
            return self._list_batches()
        batch = self.service.batches.get(parts[3])
        if batch is None:
            return self.send(404, _error(404, f"batch {parts[3]} not found"))
        if parts[-1] == "results":
            lines = "".join(json.dumps(line) + "\n" for line in reversed(batch.lines))
            return self.send_bytes(200, lines.encode(), "application/x-jsonl")
        if int(parts[3].removeprefix("msgbatch_")) < self.service.held_from:
            batch.polls += 1
        if batch.polls == 2:
            self._process(batch)
        return self.send(200, self._describe(parts[3]))

    def _authorized(self) -> bool:
        """The key comes in either header, by the age of the SDK."""
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return KEY in (self.headers.get("x-api-key"), bearer)

    def _create_batch(self, body: dict[str, Any]) -> None:
        batches = self.service.batches
        name = f"msgbatch_{len(batches) + 1}"
        ids = [request["custom_id"] for request in body["requests"]]
        assert len(set(ids)) == len(ids)
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", i) for i in ids)
        batches[name] = Batch(body["requests"])
        self.send(200, self._describe(name), fault=self.service.batch_fault)

    def _list_batches(self) -> None:
        """List the newest first, no more than `listed_at_once` of them."""
        names = [*reversed(self.service.batches)]
        after = parse_qs(urlsplit(self.path).query).get("after_id", [""])[0]
        rest = names[names.index(after) + 1 :] if after else names
        page = rest[: self.service.listed_at_once]
        self.send(
            200,
            {
                "data": [self._describe(name) for name in page],
                "has_more": len(rest) > len(page),
                "first_id": page[0] if page else None,
                "last_id": page[-1] if page else None,
            },
        )

    def _cancel_batch(self, name: str) -> None:
        self.service.batches[name].canceled = True
        self.send(200, self._describe(name))

    def _process(self, batch: Batch) -> None:
        service = self.service
        served = []
        for request in batch.requests:
            service.asked += 1
            fault = service.fault(service.asked, request["params"])
            refusal = _objection(request["params"])
            if fault and not refusal:
                refusal = fault.status, fault.message
            if refusal:
                result = {"type": "errored", "error": _error(*refusal)}
                batch.lines.append({"custom_id": request["custom_id"], "result": result})
            else:
                served.append(request)
        answers = service.respond_together([request["params"] for request in served])
        for request, message in zip(served, answers, strict=True):
            result = {"type": "succeeded", "message": message}
            batch.lines.append({"custom_id": request["custom_id"], "result": result})

    def _describe(self, name: str) -> dict[str, Any]:
        batch = self.service.batches[name]
        ended = batch.polls >= 2
        host = self.headers["host"]
        url = f"http://{host}/v1/messages/batches/{name}/results"
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        if ended:
            for line in batch.lines:
                counts[line["result"]["type"]] += 1
        else:
            counts["processing"] = len(batch.requests)
        return {
            "id": name,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts,
            "created_at": batch.created.isoformat(),
            "expires_at": (batch.created + timedelta(days=1)).isoformat(),
            "ended_at": None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": url if ended else None,
        }


def serving(service: MessagesServer) -> AbstractContextManager[str]:
    """Serve on a free port of 127.0.0.1; yield the address."""
    return serving_with(_Handler, service)
