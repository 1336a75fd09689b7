"""`crx eval init`: write a question set about one's own documents."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from crx._cli.options import existing_index, progress_options
from crx._cli.output import display_path, print_aside, print_line, print_note
from crx._cli.progress import Form
from crx._index.reader import open_reader
from crx.errors import InputError, NotText, UsageError
from crx.ingest._worker.isolated_reader import IsolatedReader
from crx.ingest.discover import Root, discover, require_paths
from crx.ingest.read import read_file
from crx.registry import load_generator
from crx.sending import sending_notice, text_bytes
from crx.types import Document
from crx_evaluate.datasets import write_set
from crx_evaluate.questions import (
    QuestionFile,
    SampledChunk,
    generate_question,
    read_documents,
    sample_chunks,
)
from crx_evaluate.structure import make_questions

# Stretches tried for each question wanted, where a generator fails at many.
TRIES = 3
# Questions of a set: those of a model or a person, and those that cost nothing.
COUNT, STRUCTURE_COUNT = 50, 200


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option(
    "--index",
    "folder",
    metavar="DIR",
    help="Index whose documents to ask about, instead of PATH.  [default: as in other commands]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="SET",
    help="Folder of the question set; an existing one is continued.",
)
@click.option(
    "--with",
    "with_",
    default="",
    metavar="GENERATOR",
    help="Model that writes the questions: llama:PATH, ollama:NAME, claude:MODEL or "
    "openai:URL#MODEL.  [default: you type them]",
)
@click.option(
    "--from",
    "source",
    type=click.Choice(["structure"]),
    help="Make the questions without a model: from links, definitions, options, headings, "
    "captions, subjects of mails and messages of git commits.  [default: you type them]",
)
@click.option(
    "-n",
    "count",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Questions that the set has in the end.  [default: {COUNT}; {STRUCTURE_COUNT} from "
    "structure]",
)
@progress_options
def command(
    *,
    paths: tuple[Path, ...],
    folder: str | None,
    out: Path,
    with_: str,
    source: str | None,
    count: int | None,
    progress: Form,
) -> int:
    """Write a question set about the documents of PATH, or of an index.

    Chunks are drawn from every document in turn. Each is shown to you, or to the model of --with,
    for a question that it answers; the chunk is the gold item. The same command continues the set.

    With --from structure the questions are made at once, from the documents themselves. What a
    question was made from is removed from the documents of the set, or the question is marked as
    one of exact words; "crx eval" lists the figures of each kind.
    """
    if paths and folder:
        raise UsageError("PATH and --index: give one of them")
    if source and with_:
        raise UsageError("--from and --with: give one of them")
    documents = _read(paths) if paths else _stored(folder)
    if not documents:
        raise InputError("no document that can be read; name a folder of texts")
    if source:
        _write_structure(out, documents, count or STRUCTURE_COUNT)
        return 0
    count = count or COUNT
    questions = QuestionFile(out, documents)
    wanted = [each for each in sample_chunks(documents) if each.id not in questions.ids]
    missing = count - len(questions.ids)
    if with_:
        tried = wanted[: TRIES * max(0, missing)]
        with contextlib.closing(load_generator(with_)) as generator:
            n_bytes = sum(text_bytes(each.prompt) for each in tried)
            if notice := sending_notice(generator, {"chunk": len(tried)}, n_bytes=n_bytes):
                print_note(f"{notice} at most")
            failed = _write(
                questions,
                tried,
                missing,
                lambda each: generate_question(generator, each),
                quiet=progress == "none",
            )
    else:
        failed = 0
        _type(questions, wanted, missing)
    name = display_path(out)
    print_line(f'{name}: {len(questions.ids)} questions; "crx eval {name}" measures on them')
    if failed:
        print_note(f"{failed} answers of {with_} were not questions and were left out")
    if len(questions.ids) < count and with_:
        print_note(f"{count} were wanted; every chunk has been tried")
        return InputError.exit_code
    return 0


def _write_structure(out: Path, documents: Sequence[Document], count: int) -> None:
    """Write a set of questions from the structure of documents."""
    made = make_questions(documents, count=count)
    for line in made.notes:
        print_note(line)
    if not made.questions:
        raise InputError(
            "nothing to make questions from: no links, definitions, headings, captions, mails or "
            "commits that name one answer; --with MODEL asks about any text"
        )
    write_set(out, made.documents, [question.row for question in made.questions])
    name = display_path(out)
    kinds = ", ".join(f"{number} {kind}" for kind, number in made.count_kinds().items())
    print_line(f'{name}: {len(made.questions)} questions; "crx eval {name}" measures on them')
    print_note(f"by kind: {kinds}")
    if len(made.questions) < count:
        print_note(f"{count} were wanted; the structure of the documents gives no more")


def _write(
    questions: QuestionFile,
    wanted: Sequence[SampledChunk],
    missing: int,
    asks: Callable[[SampledChunk], str],
    *,
    quiet: bool,
) -> int:
    """Write so many questions that a generator asks; return how many answers were none."""
    failed = made = 0
    for each in wanted:
        if made >= missing:
            break
        if question := asks(each):
            questions.add(each, question)
            made += 1
            if not quiet:
                print_note(f"{made}/{missing} {each.document.uri}: {question}")
        else:
            failed += 1
    return failed


def _type(questions: QuestionFile, wanted: Sequence[SampledChunk], missing: int) -> None:
    """Write so many questions that are typed."""
    print_note("type a question that each chunk answers; an empty line skips it, q ends")
    made = 0
    for each in wanted:
        if made >= missing:
            return
        print_aside(f"\n{display_path(each.document.uri)} [{made + 1} of {missing}]\n")
        print_aside(each.text.strip())
        question = _read_question()
        if question is None or question == "q":
            return
        if question:
            questions.add(each, question)
            made += 1


def _read_question() -> str | None:
    """Return a line that is typed, or None at the end of the input."""
    click.echo("\nquestion: ", err=True, nl=False)
    # Not `click.prompt`: it reports the end of piped input as an interrupt.
    try:
        return input().strip()
    except EOFError:
        click.echo(err=True)
        return None


def _read(paths: Sequence[Path]) -> list[Document]:
    documents: list[Document] = []
    require_paths(paths)
    with IsolatedReader() as reader:
        for found in discover([Root.at(path) for path in paths]).files:
            try:
                documents += read_file(found.path, read=reader.read)
            except NotText:
                continue
            except InputError as error:
                print_note(f"{display_path(found.uri)}: {error}")
    return documents


def _stored(folder: str | None) -> list[Document]:
    with open_reader(existing_index(folder)) as index:
        return read_documents(index.store)
