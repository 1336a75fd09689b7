"""A chat completions API on 127.0.0.1 with automatic prefix caching, for tests.

Prompts are cached in blocks of 16 tokens, as by vLLM: a block is read if it and all blocks before
it were at the same position in an earlier prompt.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from local_server import Fault, JsonHandler, count_tokens, serving_with, tokens

MODEL = "small"
_BLOCK = 16


def first_word(body: dict[str, Any]) -> str:
    """Return a context that names a word of the chunk, so that answers can be distinguished."""
    chunk = body["messages"][0]["content"].split("<chunk>\n")[-1].split("\n</chunk>")[0]
    word = next(iter(re.findall(r"[a-z]+", chunk)), "nothing")
    return f"the part of the whole that begins its tale with {word}"


class ChatServer:
    """The state that a test sets and reads.

    `counts` is the form in which usage is reported: "openai", "deepseek" or "none".
    """

    def __init__(self) -> None:
        self.answer: Callable[[dict[str, Any]], str] = first_word
        self.finish_reason = "stop"
        self.fault: Callable[[int, dict[str, Any]], Fault | None] = lambda asked, body: None
        self.counts = "openai"
        self.seen: list[tuple[dict[str, Any], dict[str, str]]] = []
        self.asked = 0
        self._kept: set[bytes] = set()
        self._lock = threading.Lock()

    def respond(self, body: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        text = self.answer(body)
        with self._lock:
            self.seen.append((body, headers))
            usage = self._usage(body["messages"][0]["content"], count_tokens(text))
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": self.finish_reason}
        return {
            "id": f"chatcmpl-{len(self.seen)}",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [choice],
            **({"usage": usage} if usage else {}),
        }

    def _usage(self, prompt: str, output: int) -> dict[str, Any]:
        sent = tokens(prompt)
        digest, read, chain = hashlib.sha256(), 0, []
        for start in range(0, len(sent) - _BLOCK + 1, _BLOCK):
            digest.update("\0".join(sent[start : start + _BLOCK]).encode())
            chain.append(digest.digest())
        while read < len(chain) and chain[read] in self._kept:
            read += 1
        self._kept.update(chain)
        counts = {
            "prompt_tokens": len(sent),
            "completion_tokens": output,
            "total_tokens": len(sent) + output,
        }
        reported: dict[str, dict[str, Any]] = {
            "openai": {"prompt_tokens_details": {"cached_tokens": read * _BLOCK}},
            "deepseek": {"prompt_cache_hit_tokens": read * _BLOCK},
        }
        return {} if self.counts == "none" else counts | reported[self.counts]


class _Handler(JsonHandler[ChatServer]):
    def do_POST(self) -> None:  # noqa: N802 - the name is http.server's
        body, service = self.body(), self.service
        service.asked += 1
        if self.path != "/v1/chat/completions":
            return self.send(404, {"error": {"message": "no such path"}})
        if body["model"] != MODEL:
            return self.send(404, {"error": {"message": f"model {body['model']} not found"}})
        fault = service.fault(service.asked, body)
        if fault and fault.status != 200:
            message = {"error": {"message": fault.message}}
            return self.send(fault.status, message, fault.headers, fault=fault)
        headers = {name.lower(): value for name, value in self.headers.items()}
        completion = service.respond(body, headers)
        if body.get("stream"):
            return self.send_events(completion_pieces(completion), fault=fault)
        return self.send(200, completion, fault=fault)


def completion_pieces(completion: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a completion as it is streamed: two words a piece, the finish reason, the usage."""
    (choice,) = completion["choices"]
    deltas = [
        {"content": piece} for piece in re.findall(r"\S+\s*\S*\s*", choice["message"]["content"])
    ]
    ends = [*([None] * len(deltas)), choice["finish_reason"]]
    kept = {name: completion[name] for name in ("id", "created", "model")}
    kept |= {"object": "chat.completion.chunk"}
    pieces = [
        {**kept, "choices": [{"index": 0, "delta": delta, "finish_reason": end}], "usage": None}
        for delta, end in zip([*deltas, {}], ends, strict=True)
    ]
    return [*pieces, {**kept, "choices": [], "usage": completion.get("usage")}]


def serving(service: ChatServer) -> AbstractContextManager[str]:
    """Serve on a free port of 127.0.0.1; yield the address."""
    return serving_with(_Handler, service)
