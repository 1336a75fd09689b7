"""Generators: one contract over all of them, and what each does when its answer breaks off."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import pytest
from numbered import RecordedSleep

from crx._services.service_usage import ServiceUsage
from crx.errors import CrxError, ModelError, Offline, UsageError
from crx.protocols import Generator, Metered
from crx.registry import load_generator
from crx_remote.metering import Price
from crx_runtimes.llama.generator import LlamaGenerator

SOURCE = '<passage-k number="7" from="a">\n<source-k>\n{}\n</source-k>\n</passage-k>'
PROMPT = SOURCE.format("Blue whales eat krill. They sing.") + "\n\nQuestion: what do whales eat?"


def receive(generator: Generator, prompt: str = PROMPT, prefix: str = "") -> tuple[str, str]:
    """Return the text of an answer and the error that ended it, "" for none."""
    pieces = []
    try:
        for piece in generator.generate(prompt, prefix=prefix):
            pieces.append(piece)
    except CrxError as error:
        return "".join(pieces), str(error)
    return "".join(pieces), ""


# the fake


def test_the_fake_repeats_the_sources_and_cites_them() -> None:
    fake = load_generator("fake:")
    assert isinstance(fake, Generator)
    assert receive(fake) == ("Blue whales eat krill. [7]", "")


@pytest.mark.parametrize(
    ("say", "told"),
    [
        ("uncited", "Blue whales eat krill."),
        ("unknown", "Blue whales eat krill. [999]"),
        ("absent", "This is not in these documents."),
        ("nothing", ""),
    ],
)
def test_the_fake_reproduces_wrong_answers(say: str, told: str) -> None:
    assert receive(load_generator(f"fake:say={say}")) == (told, "")


def test_a_fake_that_stops_keeps_its_text_so_far() -> None:
    told, error = receive(load_generator("fake:stop=11"))
    assert told == "Blue whales"
    assert error == "fake: set to stop after 11 characters"


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ("gpt", UsageError),
        ("fake:loud", UsageError),
        ("fake:say=lies", UsageError),
        ("fake:stop=soon", UsageError),
        ("llama:nowhere.gguf", ModelError),
        ("openai:nowhere", UsageError),
        ("openai:http://127.0.0.1:1/v1", UsageError),
    ],
)
def test_an_unknown_generator_is_refused(spec: str, error: type) -> None:
    with pytest.raises(error):
        load_generator(spec)


def test_a_plugin_that_is_no_generator_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plug = metadata.EntryPoint("own", "builtins:str", "crx.generators")
    monkeypatch.setattr(metadata, "entry_points", lambda **_: [plug])
    with pytest.raises(ModelError, match="which is not a Generator"):
        load_generator("own:thing")


@pytest.mark.parametrize("spec", ["claude:claude-sonnet-5", "openai:http://127.0.0.1:1/v1#m"])
def test_crx_offline_refuses_remote_generators(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRX_OFFLINE", "1")
    with pytest.raises(Offline):
        load_generator(spec)


# over HTTP

# Makes a generator that sends to a local server and does not wait, and that server.
Service = tuple[Callable[[], Any], Any]


@pytest.fixture(params=["claude", "openai"])
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    from crx_remote.retry import RetryPolicy

    retry_policy = RetryPolicy(sleep=RecordedSleep())
    if request.param == "claude":
        pytest.importorskip("anthropic", exc_type=ImportError)
        import messages_server as servers

        from crx_remote.claude.generator import ClaudeGenerator

        served = servers.MessagesServer(answer=answer)
        with servers.serving(served) as url:
            yield (
                lambda: ClaudeGenerator(
                    "claude-sonnet-5", key=servers.KEY, url=url, retry_policy=retry_policy
                ),
                served,
            )
    else:
        pytest.importorskip("openai", exc_type=ImportError)
        import chat_server

        from crx_remote.openai.generator import OpenAIGenerator

        chat = chat_server.ChatServer()
        chat.answer = answer
        with chat_server.serving(chat) as url:
            yield (
                lambda: OpenAIGenerator(f"{url}/v1#{chat_server.MODEL}", retry_policy=retry_policy),
                chat,
            )


def answer(body: dict[str, Any]) -> str:
    return "Blue whales eat krill and little else. [7]"


def asked_of(server: Any) -> list[dict[str, Any]]:
    return [seen.body if hasattr(seen, "body") else seen[0] for seen in server.seen]


def test_an_answer_over_http_arrives_in_pieces(service: Service) -> None:
    make, _ = service
    generator = make()
    assert isinstance(generator, Generator)
    pieces = list(generator.generate(PROMPT))
    assert "".join(pieces) == answer({})
    assert len(pieces) > 2
    assert isinstance(generator, Metered)
    assert isinstance(generator.usage, ServiceUsage)
    assert generator.usage.requests == 1
    assert generator.usage.output > 0


@pytest.mark.parametrize(
    "spec", ["claude:max_tokens=0", "openai:http://127.0.0.1:9#m:max_tokens=0"]
)
def test_an_answer_of_no_tokens_is_refused(spec: str) -> None:
    pytest.importorskip("anthropic", exc_type=ImportError)
    pytest.importorskip("openai", exc_type=ImportError)
    with pytest.raises(UsageError, match="max_tokens=0: too small; give 1 or more"):
        load_generator(spec)


@pytest.mark.parametrize("status", [429, 529, 500])
def test_a_transient_error_is_retried(service: Service, status: int) -> None:
    from local_server import Fault

    make, server = service
    server.fault = lambda n, body: Fault(status) if n < 3 else None
    assert receive(make()) == (answer({}), "")
    assert server.asked == 3


def test_an_answer_that_breaks_off_is_kept_and_not_requested_again(service: Service) -> None:
    from local_server import Fault

    make, server = service
    server.fault = lambda n, body: Fault(cut=True)
    generator = make()
    told, error = receive(generator)
    assert told
    assert answer({}).startswith(told)
    assert "the answer broke off; ask again" in error
    assert server.asked == 1
    assert generator.usage.unanswered == 1


def test_the_error_of_an_answer_at_its_token_limit_names_a_larger_one(service: Service) -> None:
    make, server = service
    if hasattr(server, "finish_reason"):
        server.finish_reason = "length"
    else:
        server.stop_reason = lambda body: "max_tokens"
    told, error = receive(make())
    assert told == answer({})
    assert "stopped after 2048 tokens" in error
    assert "max_tokens=4096" in error


def test_a_refused_prompt_is_an_error_of_one_line(service: Service) -> None:
    from local_server import Fault

    make, server = service
    server.fault = lambda n, body: Fault(400, message="prompt is too long")
    assert receive(make())[1].endswith("400: prompt is too long")


def test_closing_the_iterator_ends_the_request(service: Service) -> None:
    pieces = service[0]().generate(PROMPT)
    assert next(pieces)
    pieces.close()


def test_a_prefix_is_written_to_claudes_cache_once_and_read_after() -> None:
    pytest.importorskip("anthropic", exc_type=ImportError)
    from messages_server import KEY, MessagesServer, serving

    from crx_remote.claude.generator import ClaudeGenerator

    server = MessagesServer(answer=answer)
    prefix = "krill and whales " * 600
    with serving(server) as url:
        generator = ClaudeGenerator("claude-sonnet-5", key=KEY, url=url)
        for question in ("what?", "why?"):
            assert receive(generator, question, prefix) == (answer({}), "")
    assert list(server.writes) == [prefix]
    assert generator.usage.read == generator.usage.written > 1024
    assert generator.usage.dollars


def test_claude_without_a_model_is_the_default_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anthropic", exc_type=ImportError)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    monkeypatch.delenv("CRX_OFFLINE", raising=False)
    for spec in ("claude", "claude:", "claude:max_tokens=2048"):
        assert load_generator(spec).fingerprint == "claude:claude-sonnet-5-5 max=2048"


def test_an_error_event_in_a_stream_is_reported() -> None:
    pytest.importorskip("anthropic", exc_type=ImportError)
    from messages_server import KEY, MessagesServer, serving

    from crx_remote.claude.generator import ClaudeGenerator

    server = MessagesServer(answer=answer)
    server.broken = True
    with serving(server) as url:
        told, error = receive(ClaudeGenerator("claude-sonnet-5", key=KEY, url=url))
    assert (told, error) == ("Blue whales ", "claude:claude-sonnet-5: too many at once; ask again")


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (0, ("", "claude:claude-sonnet-5: the answer broke off")),
        (3, ("Blue whales ", "claude:claude-sonnet-5: the answer broke off; ask again")),
    ],
)
def test_a_stream_that_is_closed_early_has_broken_off(events: int, said: tuple[str, str]) -> None:
    pytest.importorskip("anthropic", exc_type=ImportError)
    from messages_server import KEY, MessagesServer, serving

    from crx_remote.claude.generator import ClaudeGenerator
    from crx_remote.retry import RetryPolicy

    server = MessagesServer(answer=answer)
    server.events_sent = events
    retry_policy = RetryPolicy(sleep=RecordedSleep())
    with serving(server) as url:
        generator = ClaudeGenerator("claude-sonnet-5", key=KEY, url=url, retry_policy=retry_policy)
        assert receive(generator) == said
    assert generator.usage == ServiceUsage(unanswered=server.asked)


def test_the_reasoning_of_a_chat_server_is_stripped() -> None:
    pytest.importorskip("openai", exc_type=ImportError)
    from chat_server import MODEL, ChatServer, serving

    from crx_remote.openai.generator import OpenAIGenerator

    server = ChatServer()
    server.answer = lambda body: "<think>what do whales eat? let me see</think> Krill."
    with serving(server) as url:
        generator = OpenAIGenerator(f"{url}/v1#{MODEL}")
        assert receive(generator, "a", "b") == ("Krill.", "")
    assert asked_of(server)[0]["messages"] == [{"role": "user", "content": "ba"}]
    assert generator.usage == ServiceUsage(
        1, input=generator.usage.input, output=generator.usage.output, dollars=None
    )


def test_the_dollars_of_a_server_without_counts_are_unknown() -> None:
    pytest.importorskip("openai", exc_type=ImportError)
    from chat_server import MODEL, ChatServer, serving

    from crx_remote.openai.generator import OpenAIGenerator

    server = ChatServer()
    server.counts = "none"
    with serving(server) as url:
        generator = OpenAIGenerator(f"{url}/v1#{MODEL}", price=Price(1, 2, 1, 1, 1))
        receive(generator)
    assert generator.usage == ServiceUsage(requests=1, dollars=None)


# on this machine


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("llama_cpp")
    pytest.importorskip("gguf")
    import tiny_gguf

    return tiny_gguf.parrot(tmp_path_factory.mktemp("models") / "parrot.gguf")


def test_a_local_model_answers_in_pieces_and_more_than_once(gguf: Path) -> None:
    generator = load_generator(f"llama:{gguf}:threads=1,max_tokens=24")
    pieces = list(generator.generate("what?", prefix="It begins. "))
    assert isinstance(generator, Generator)
    assert "".join(pieces) == "This tells how it begins."
    assert len(pieces) > 2
    assert receive(generator, "why?", "It begins. ") == ("This tells how it begins.", "")
    generator.close()


def test_a_local_model_at_its_token_limit_is_an_error(gguf: Path) -> None:
    generator = load_generator(f"llama:{gguf}:threads=1,max_tokens=2")
    told, error = receive(generator, "what?")
    generator.close()
    assert told == "This tells"
    assert "stopped after 2 tokens" in error


def test_a_prompt_longer_than_the_window_is_refused_and_the_next_answered(gguf: Path) -> None:
    generator = load_generator(f"llama:{gguf}:threads=1,max_tokens=24,window=128")
    told, error = receive(generator, "whales " * 500)
    assert told == ""
    assert "tokens of 128" in error
    assert receive(generator, "what?")[0] == "This tells how it begins."
    generator.close()


def test_closing_the_iterator_ends_the_process_of_a_local_model(gguf: Path) -> None:
    generator = load_generator(f"llama:{gguf}:threads=1,max_tokens=24")
    pieces = generator.generate("what?")
    assert "This tells how".startswith(next(pieces))
    pieces.close()  # type: ignore[attr-defined]  # a generator
    assert receive(generator, "what?")[0] == "This tells how it begins."
    generator.close()


def test_a_model_that_is_killed_during_an_answer_is_an_error_of_one_line(
    tmp_path: Path,
) -> None:
    pytest.importorskip("llama_cpp")
    pytest.importorskip("gguf")
    import tiny_gguf

    path = tiny_gguf.random_model(tmp_path / "random.gguf")
    generator = load_generator(f"llama:{path}:threads=1,max_tokens=3000")
    assert isinstance(generator, LlamaGenerator)
    pieces = generator.generate("what?")
    next(pieces)
    child = generator._llama._process._supervisor.child
    assert child is not None
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(ModelError, match="process was lost: killed"):
        list(pieces)
    assert next(generator.generate("what?"))
    generator.close()


def test_a_character_is_emitted_with_its_last_byte() -> None:
    pytest.importorskip("llama_cpp")
    from crx_runtimes.llama.prompt_tokens import StreamingDecoder

    class Bytes:
        def raw(self, tokens: Sequence[int]) -> bytes:
            return bytes(tokens)

    decoder, text = StreamingDecoder(cast(Any, Bytes())), "é鯨"
    tokens = [*text.encode(), 0xE9]
    pieces = [decoder.decode(tokens[: n + 1]) for n in range(len(tokens))]
    assert [*pieces, decoder.decode(tokens, final=True)] == ["", "é", "", "", "鯨", "", "\ufffd"]
