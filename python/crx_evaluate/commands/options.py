"""Options that several commands of `crx eval` take."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from crx._cli.options import embedder_option, parse_settings
from crx._cli.output import print_note
from crx._cli.progress import Form, show_build
from crx.config import resolve
from crx.errors import UsageError
from crx.registry import load_generator, load_reranker
from crx_evaluate import Options
from crx_evaluate.results import MAX_K, check_metric

Command = TypeVar("Command", bound=Callable[..., Any])


def contexts_option(command: Command) -> Command:
    """Add --contexts for one source of contexts."""
    return click.option(
        "--contexts",
        default="outline",
        show_default=True,
        metavar="HOW",
        help="Contexts of the chunks: none, outline, FILE, outline+FILE or a model. With a FILE, "
        "its spans are the chunks.",
    )(command)


class OutputFile(click.Path):
    """A file to write, whose folder must exist before the work whose results it receives."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not path.parent.is_dir():
            raise UsageError(f"{path}: there is no folder {path.parent}; make it first")
        return path


def measuring_options(command: Command) -> Command:
    """Add the options of how a set is indexed and searched."""
    for option in reversed(_MEASURING):
        command = option(command)
    return command


def failed_at_option(command: Command) -> Command:
    """Add --failed-at."""
    return click.option(
        "--failed-at",
        type=click.IntRange(min=1, max=MAX_K),
        default=MAX_K,
        show_default=True,
        metavar="K",
        help="List a question as failed when the first K chunks lack a gold item.",
    )(command)


def save_option(command: Command) -> Command:
    """Add --save."""
    return click.option(
        "--save",
        "file",
        type=OutputFile(),
        metavar="FILE",
        help='Write the values of each question to FILE, for "crx eval compare".',
    )(command)


@contextlib.contextmanager
def options_of(
    *,
    index: Path | None,
    chunk_chars: int | None,
    embedder: str | None,
    rerank: str | None,
    assignments: tuple[str, ...],
    progress: Form,
    as_json: bool,
    with_: str = "",
    failed_at: int = MAX_K,
) -> Iterator[Options]:
    """Yield the options that were given; progress is shown while they are in use."""
    settings = parse_settings(assignments)
    settings |= {} if embedder is None else {"embedder": embedder}
    reranker = reranker_name(rerank, assignments)
    with contextlib.ExitStack() as stack:
        show = stack.enter_context(show_build(progress, as_json=as_json))
        generator = load_generator(with_) if with_ else None
        if generator is not None:
            stack.callback(generator.close)
        yield Options(
            index=index,
            chunk_chars=chunk_chars,
            settings=settings,
            reranker=load_reranker(reranker) if reranker else None,
            generator=generator,
            failed_at=failed_at,
            on_contexts=None if progress == "none" else _print_contexts,
            on_notice=print_note,
            on_progress=show,
        )


def _print_contexts(source: str) -> None:
    print_note(f"contexts: {source}")


def reranker_name(given: str | None, assignments: tuple[str, ...]) -> str:
    """Return the reranker of --rerank, else of the settings; "" if it is off."""
    named = given
    if named is None:
        named = resolve(parse_settings(assignments)).settings.reranker
    return "" if named == "off" else named


def parse_minimum(text: str) -> tuple[str, float]:
    """Return the metric and the least value of `recall@20=0.9`."""
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
        "--files",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        metavar="DIR",
        help="Folder of the documents that the questions.jsonl of SET quotes.  [default: SET]",
    ),
    click.option(
        "--index",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Folder to index into; what it holds is used again.  [default: a temporary one]",
    ),
    click.option(
        "--chunk-chars",
        type=click.IntRange(min=1),
        metavar="N",
        help="Characters of a chunk.  [default: 800; 400 for Chinese and Japanese]",
    ),
    embedder_option,
    click.option(
        "--rerank",
        metavar="RERANKER",
        help="Also rerank with this reranker, or off.  [default: the setting reranker]",
    ),
)
