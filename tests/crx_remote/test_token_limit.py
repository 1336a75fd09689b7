"""Documents that are longer than the token limit of a service: sent in parts, never truncated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("anthropic", exc_type=ImportError)
pytest.importorskip("openai", exc_type=ImportError)

from chat_server import ChatServer
from chat_server import serving as serving_chat
from local_server import Fault, count_tokens
from messages_server import KEY, MessagesServer, serving
from remote_contexts import make_claude, make_openai

from crx._services.prompt import Prompt
from crx.errors import UsageError
from crx.types import Chunk, Context, Document
from crx_remote.claude.pricing import ClaudePricing
from crx_remote.metering import Price
from crx_remote.remote_requests import TokenLimit
from crx_remote.retry import RetryPolicy

pytestmark = pytest.mark.usefixtures("accept_generic_contexts")

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
TAKES = 1400


def document(name: str = "a", *, words: int = 250) -> Document:
    """Ten paragraphs: about 3,000 tokens of the servers."""
    filler = f" {name} and so on" * (words // 4)
    return Document(name, "\n".join(n + filler for n in NUMBERS))


def paragraphs(document: Document) -> list[Chunk]:
    chunks, start = [], 0
    for ordinal, text in enumerate(document.text.split("\n")):
        chunks.append(Chunk(ordinal, start, start + len(text), 0, 0, 0, text))
        start += len(text) + 1
    return chunks


CONTEXTS = [Context(f"the part of the whole that begins its tale with {n}") for n in NUMBERS]


def sent(body: dict[str, Any]) -> str:
    content = body["messages"][0]["content"]
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


class Narrow:
    """A service that rejects prompts of more than `TAKES` tokens."""

    def __init__(self, server: MessagesServer | ChatServer, make: Callable[..., Any]) -> None:
        self.server = server
        self.make = make
        self.taken: list[str] = []
        self.refused = 0
        server.fault = self.fault

    def fault(self, asked: int, body: dict[str, Any]) -> Fault | None:
        text = sent(body)
        if count_tokens(text) <= TAKES:
            self.taken.append(text)
            return None
        self.refused += 1
        return Fault(400, message=f"prompt is too long: {count_tokens(text)} tokens > {TAKES}")


@pytest.fixture(params=["claude", "batch", "openai"])
def narrow(request: pytest.FixtureRequest) -> Iterator[Narrow]:
    async def no_sleep(wait_s: float) -> None:
        return

    retry_policy = RetryPolicy(sleep=no_sleep)
    if request.param == "openai":
        chat = ChatServer()
        with serving_chat(chat) as url:
            yield Narrow(
                chat, lambda **o: make_openai(f"{url}/v1#small", retry_policy=retry_policy, **o)
            )
        return
    messages, batch = MessagesServer(), request.param == "batch"
    with serving(messages) as url:
        fixed = {"batch": batch, "key": KEY, "url": url, "retry_policy": retry_policy}
        yield Narrow(messages, lambda **o: make_claude("claude-sonnet-5", **fixed, **o))


def test_a_rejected_document_is_sent_in_parts_that_contain_each_chunk_whole(narrow: Narrow) -> None:
    doc = document()
    assert count_tokens(doc.text) > 2 * TAKES
    assert list(narrow.make().situate(doc, paragraphs(doc))) == CONTEXTS
    assert narrow.refused > 0
    assert len(narrow.taken) == len(NUMBERS)
    for chunk in paragraphs(doc):
        holding = [text for text in narrow.taken if f"<chunk>\n{chunk.text}" in text]
        assert [text.count(chunk.text) for text in holding] == [2], "in its part, and by itself"


def test_the_limit_is_learned_from_the_first_document(narrow: Narrow) -> None:
    made = narrow.make()
    list(made.situate(document("a"), paragraphs(document("a"))))
    refused = narrow.refused
    assert list(made.situate(document("b"), paragraphs(document("b")))) == CONTEXTS
    assert narrow.refused == refused


def test_a_configured_limit_avoids_rejections(narrow: Narrow) -> None:
    doc = document()
    # The local servers count more tokens in these texts than either backend guesses.
    made = narrow.make(
        token_limit=1200 if narrow.make().fingerprint[0] == "o" else 1500, max_tokens=200
    )
    assert list(made.situate(doc, paragraphs(doc))) == CONTEXTS
    assert narrow.refused == 0
    assert made.fingerprint != narrow.make(max_tokens=200).fingerprint


@pytest.mark.parametrize(
    ("name", "option", "least"),
    [("width", "width", 1), ("max_tokens", "max_tokens", 1), ("token_limit", "window", 0)],
)
def test_an_option_below_its_minimum_is_refused(
    narrow: Narrow, name: str, option: str, least: int
) -> None:
    with pytest.raises(UsageError, match=f"{option}={least - 1}: too small; give {least} or more"):
        narrow.make(**{name: least - 1})


def test_a_text_is_accepted_for_three_chunks_of_a_document_and_not_of_each_part(
    narrow: Narrow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx_contexts.validate.MAX_SHARED", 3)
    doc = document()
    narrow.server.answer = lambda body: f"the part of the whole that begins with {NUMBERS[0]}"
    outcomes = [context.outcome for context in narrow.make().situate(doc, paragraphs(doc))]
    assert narrow.refused > 0
    assert outcomes.count("rejected:same text") == len(NUMBERS) - 3


def test_a_short_document_is_sent_whole(narrow: Narrow) -> None:
    doc = document(words=40)
    list(narrow.make().situate(doc, paragraphs(doc)))
    assert all(text.startswith(f"<document>\n{doc.text}\n</document>") for text in narrow.taken)


def test_a_plan_counts_the_parts() -> None:
    doc = document(words=40_000)
    pricing = ClaudePricing("claude-haiku-4-5", price=Price(1, 5, 1, 1, 1))
    planned = pricing.estimate_cost([(doc, paragraphs(doc))])
    assert planned.chunks == 10
    assert max(planned.usage.written, planned.usage.input) > 200_000
    assert planned.usage.prompt < 10 * 200_000


@given(st.integers(60, 4000), st.integers(1, 400))
def test_every_part_fits_and_contains_its_chunks(tokens: int, words: int) -> None:
    doc, prompt = document(words=words), Prompt.of("{document}|{chunk}")
    chunks = paragraphs(doc)
    limit = TokenLimit(tokens, 0.25)
    parts = limit.parts(doc, chunks, prompt=prompt, answer_tokens=10)
    assert [part.first for part in parts] == [0, *(part.last for part in parts[:-1])]
    assert parts[-1].last == len(chunks)
    for part in parts:
        assert all(chunk.text in part.text for chunk in chunks[part.first : part.last])
        if len(parts) > 1:
            longest = max(len(chunk.text) for chunk in chunks[part.first : part.last])
            assert (len(part.text) + longest) * 0.25 + 10 <= tokens
