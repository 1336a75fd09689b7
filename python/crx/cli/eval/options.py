"""What several evaluations take: where to index, what reranks, what writes, what is kept."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from crx.cli.options import settings_of
from crx.cli.output import note, progress
from crx.config import resolve
from crx.errors import UsageError
from crx.evaluate import Options
from crx.registry import load_generator, load_reranker

Command = TypeVar("Command", bound=Callable[..., Any])


def contexts_option(command: Command) -> Command:
    """Add --contexts for one source of contexts."""
    return click.option(
        "--contexts",
        default="outline",
        show_default=True,
        metavar="HOW",
        help="none, outline, FILE, outline+FILE or a model; a FILE's spans are then the chunks.",
    )(command)


def measuring_options(command: Command) -> Command:
    """Add what says how a set is indexed and asked."""
    for option in reversed(_MEASURING):
        command = option(command)
    return command


def save_option(command: Command) -> Command:
    """Add --save."""
    return click.option(
        "--save",
        "file",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help='Keep the value of each question, for "crx eval compare".',
    )(command)


@contextlib.contextmanager
def options_of(
    *,
    index: Path | None,
    chunk_chars: int | None,
    rerank: str | None,
    assignments: tuple[str, ...],
    quiet: bool,
    with_: str = "",
) -> Iterator[Options]:
    """Yield the options that the flags give, with a progress bar while they are in use."""
    settings = settings_of(assignments)
    reranker = reranker_name(rerank, assignments)
    with contextlib.ExitStack() as stack:
        show = stack.enter_context(progress(quiet=quiet))
        generator = load_generator(with_) if with_ else None
        if generator is not None:
            stack.callback(generator.close)
        yield Options(
            index=index,
            chunk_chars=chunk_chars,
            settings=settings,
            reranker=load_reranker(reranker) if reranker else None,
            generator=generator,
            on_contexts=None if quiet else lambda source: note(f"contexts: {source}"),
            on_progress=show,
        )


def reranker_name(given: str | None, assignments: tuple[str, ...]) -> str:
    """Return the reranker of the flag, else of the settings; "" where it is off."""
    named = given
    if named is None:
        named = resolve(settings_of(assignments)).settings.reranker
    return "" if named == "off" else named


def parse_minimum(text: str) -> tuple[str, float]:
    """Return the metric and the least value of `recall@20=0.9`."""
    from crx.evaluate.results import check_metric

    name, equals, value = text.partition("=")
    try:
        least = float(value)
    except ValueError:
        equals = ""
        least = 0.0
    if not equals:
        raise UsageError(f"--min {text}: want METRIC=NUMBER, as in recall@20=0.9")
    return check_metric(name.strip()), least


_MEASURING = (
    click.option(
        "--index",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Index into this folder, not into a temporary one; what is there is not made again.",
    ),
    click.option(
        "--chunk-chars",
        type=click.IntRange(min=1),
        metavar="N",
        help="Characters of a chunk.  [default: 800; 400 for Chinese and Japanese]",
    ),
    click.option(
        "--rerank",
        metavar="RERANKER",
        help="Also rerank, with this reranker; off: do not.  [default: the setting reranker]",
    ),
)
