"""Folders that other people made: a project with an index, changed so that it would act outside.

Each is built beside `outside`, a tree that nothing in the folder may change or have read.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import orjson

from crx import _native

SECRET = "the password is krill\n"


@dataclass(frozen=True, slots=True)
class Places:
    """Where a hostile folder is: `work` is the folder, `outside` what it must not reach."""

    top: Path
    url: str

    @property
    def work(self) -> Path:
        """The project, in which commands run."""
        return self.top / "work"

    @property
    def index(self) -> Path:
        """The index that came with the project."""
        return self.work / ".crx"

    @property
    def outside(self) -> Path:
        """The tree outside of it."""
        return self.top / "outside"

    @property
    def home(self) -> Path:
        """The folder of the user's settings."""
        return self.top / "home"

    @property
    def temporary(self) -> Path:
        """The folder of temporary files."""
        return self.top / "tmp"


@dataclass(frozen=True, slots=True)
class HostileFolder:
    """A way to attack, and what makes the folder do so."""

    name: str
    change: Callable[[Places], None]

    def build(self, places: Places, *, template: Path) -> None:
        """Make the folder of a project whose index is that of `template`, and what lies outside."""
        for folder in (places.outside / "folder", places.home, places.temporary):
            folder.mkdir(parents=True)
        (places.outside / "secret.md").write_text(SECRET)
        (places.outside / "folder" / "secret.md").write_text(SECRET)
        shutil.copytree(template, places.work, symlinks=True)
        (places.home / "config.toml").write_text('reranker = ""\n')
        self.change(places)


# Every name that a command writes in a project, and some that it only reads.
NAMES = (
    ".crx",
    ".crx/.gitignore",
    ".crx/.gitignore.tmp",
    ".crx/contexts.jsonl",
    ".crx/contexts.jsonl.tmp",
    ".crx/crx.db",
    ".crx/crx.db-journal",
    ".crx/crx.db-shm",
    ".crx/crx.db-wal",
    ".crx/derived",
    ".crx/derived/ann-1.hnsw",
    ".crx/derived/ann-2.hnsw.tmp",
    ".crx/derived/bm25",
    ".crx/derived/bm25/.managed.json",
    ".crx/derived/bm25/.tantivy-meta.lock",
    ".crx/derived/bm25/.tantivy-writer.lock",
    ".crx/derived/bm25/file-ends.json",
    ".crx/derived/bm25/file-ends.json.tmp",
    ".crx/derived/bm25/meta.json",
    ".crx/derived/codes-2.int8.tmp",
    ".crx/derived/tail-1-9.f16.tmp",
    ".crx/derived/usearch-1.usearch",
    ".crx/derived/usearch-2.usearch.tmp",
    ".crx/derived/vectors-1.f16",
    ".crx/derived/vectors-1.f16.tmp",
    ".crx/derived/vectors-2.f16",
    ".crx/derived/vectors-2.f16.tmp",
    ".crx/lock",
    ".crx/skipped.jsonl",
    ".crx/skipped.jsonl.tmp",
    ".gitignore",
    ".mcp.json.tmp",
    ".zed",
    "b.crx.partial",
    "crx.tmp",
    "crx.toml",
    "docs/.gitignore",
    "docs/linked.md",
    "s.crx.partial",
    "set/corpus.tmp",
)


def hostile_folders() -> list[HostileFolder]:
    """Return every folder, each with a name of its own."""
    return [*_special_names(), *_settings(), *_project_files(), *_documents(), *_rows()]


def _special_names() -> Iterator[HostileFolder]:
    for name in NAMES:
        for kind, make in _SPECIAL.items():
            yield HostileFolder(f"{kind} at {name}", partial(_replace, name=name, make=make))
    for name in (
        ".crx/crx.db",
        ".crx/skipped.jsonl",
        "crx.toml",
        "docs/.gitignore",
        "docs/linked.md",
    ):
        change = partial(_replace, name=name, make=_link_to_a_device)
        yield HostileFolder(f"a link to a device at {name}", change)
    for name in (".crx/lock", ".crx/skipped.jsonl.tmp", ".crx/crx.db"):
        for kind, make in _SPECIAL.items():
            yield HostileFolder(
                f"{kind} at {name} without derived files",
                partial(_replace_without_derived, name=name, make=make),
            )


def _replace(places: Places, *, name: str, make: Callable[[Path, Places], None]) -> None:
    path = places.work / name
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path, places)


def _replace_without_derived(
    places: Places, *, name: str, make: Callable[[Path, Places], None]
) -> None:
    shutil.rmtree(places.index / "derived")
    _replace(places, name=name, make=make)


def _link_to_a_device(path: Path, places: Places) -> None:
    path.symlink_to("/dev/zero")


_SPECIAL: dict[str, Callable[[Path, Places], None]] = {
    "a link to a file": lambda path, places: path.symlink_to(places.outside / "secret.md"),
    "a link to a folder": lambda path, places: path.symlink_to(places.outside / "folder"),
    "a broken link": lambda path, places: path.symlink_to(places.outside / "new"),
    "a pipe": lambda path, places: os.mkfifo(path),
}


def set_settings(places: Places, **settings: str) -> None:
    """Change the settings of the index, with hashes that match, as whoever made it can."""
    store = _native.Store.open(str(places.index), write=True)
    try:
        store.set_settings({**store.settings(), **settings})
    finally:
        store.close()


def _settings() -> Iterator[HostileFolder]:
    embedders = {
        "a service": lambda places: f"openai:{places.url}/v1#m",
        "a service by the Python name": lambda places: f"openai:{places.url}#m:dimensions=64",
        "a model outside": lambda places: f"onnx:{places.outside / 'folder'}",
        "a model of sentence-transformers": lambda places: f"st:{places.outside / 'folder'}",
        "a path to a model": lambda places: str(places.outside / "folder"),
        "a model for OpenVINO": lambda places: f"openvino:{places.outside / 'folder'}",
    }
    for what, embedder in embedders.items():
        yield HostileFolder(
            f"embedder: {what}",
            partial(_set_embedder, of=embedder),
        )
    roots: dict[str, Callable[[Places], list[str]]] = {
        "a folder outside": lambda places: [str(places.outside)],
        "a file outside": lambda places: [str(places.outside / "secret.md")],
        "above": lambda places: ["./../outside"],
        "by dots": lambda places: [f"{places.work}/docs/../../outside"],
        "everything": lambda places: ["/"],
        "a link": lambda places: [str(_link(places.work / "linked", places.outside))],
        "a link within": lambda places: [
            str(_link(places.work / "deep", places.work) / ".." / "outside")
        ],
        "a device": lambda places: ["/dev/zero"],
        "a pipe": lambda places: [str(_pipe(places.outside / "pipe"))],
        "many": lambda places: [str(places.work / "docs"), str(places.outside)],
    }
    for what, of in roots.items():
        yield HostileFolder(f"root: {what}", partial(_set_roots, of=of))
    yield HostileFolder(
        "base: outside",
        lambda places: set_settings(places, base=str(places.outside), roots=_roots(["./"])),
    )
    yield HostileFolder(
        "mounts: outside",
        lambda places: set_settings(places, mounts=orjson.dumps([str(places.outside)]).decode()),
    )
    for what, file in {
        "a forged graph": "usearch-2.usearch",
        "a graph outside": "../../../outside/secret.md",
    }.items():
        yield HostileFolder(f"usearch: {what}", partial(_forge_graph, file=file))
    for head in ("", "outline+", "none+"):
        yield HostileFolder(
            f"contexts: {head}a file outside",
            partial(_set_contexts, head=head),
        )


def _set_embedder(places: Places, *, of: Callable[[Places], str]) -> None:
    set_settings(places, embedder=of(places))


def _forge_graph(places: Places, *, file: str) -> None:
    """Name a file as the graph of each of the next states; no key of the user has sealed it."""
    set_settings(places, usearch_seal=f"{file} 2 {'0' * 64}")
    (places.index / "derived" / "usearch-2.usearch").write_bytes(b"usearch" + 2_000 * b"\xff")


def _set_contexts(places: Places, *, head: str) -> None:
    set_settings(places, contexts=f"{head}{places.outside / 'secret.md'}")


def _roots(uris: list[str]) -> str:
    return orjson.dumps([{"uri": uri, "exclude": []} for uri in uris]).decode()


def _set_roots(places: Places, *, of: Callable[[Places], list[str]]) -> None:
    set_settings(places, roots=_roots(of(places)))


def _link(path: Path, target: Path) -> Path:
    path.symlink_to(target)
    return path


def _pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path


def _project_files() -> Iterator[HostileFolder]:
    texts: dict[str, Callable[[Places], str]] = {
        "embedder": lambda places: f'embedder = "openai:{places.url}/v1#m"',
        "generator": lambda places: f'generator = "openai:{places.url}/v1#m"',
        "reranker": lambda places: f'reranker = "cohere:{places.url}/v1#m"',
        "contexts": lambda places: f'contexts = "outline+{places.outside / "secret.md"}"',
        "prompts": lambda places: f'[prompts]\n"docs" = "{places.outside / "secret.md"}"',
        "workers": lambda places: "workers = 500",
        "a cluster": lambda places: f'workers_on = "ray://{places.url.removeprefix("http://")}"',
        "limits": lambda places: (
            "read_seconds = 10000000\nread_memory_mb = 1000000\nmax_file_mb = 100000"
        ),
        "depths": lambda places: (
            "k = 100000000\n[rank.bm25]\ndepth = 100000000\n[rank.dense]\ndepth = 100000000"
        ),
        "no TOML": lambda places: "\0\0\0",
        "a deep TOML": lambda places: "k = " + "[" * 20_000,
        "a long TOML": lambda places: "# " + "x" * 20_000_000,
    }
    for what, text in texts.items():
        yield HostileFolder(
            f"crx.toml: {what}",
            partial(_write_settings, text=text),
        )


def _write_settings(places: Places, *, text: Callable[[Places], str]) -> None:
    (places.work / "crx.toml").write_text(f"{text(places)}\n")


def _write_document(places: Places, *, name: str) -> None:
    (places.work / "docs" / name).write_text("whales")


def _write_module(places: Places, *, name: str) -> None:
    """Write a module that changes what is outside when it is imported."""
    ran = f"open({str(places.outside / 'ran')!r}, 'w').close()\n"
    (places.work / f"{name}.py").write_text(ran)


def _dated(year: int, places: Places) -> None:
    path = places.work / "docs" / f"dated-{year}.md"
    path.write_text("a dated file")
    os.utime(path, ((year - 1970) * 31_556_952,) * 2)


def _documents() -> Iterator[HostileFolder]:
    for year in (1600, 1900, 2262, 2300, 2400):
        yield HostileFolder(f"document: dated {year}", partial(_dated, year))
    names = {
        "a line break": "a\nb.md",
        "an escape": "\x1b]0;title\x07.md",
        "a dash": "-rf.md",
        "no UTF-8": os.fsdecode(b"caf\xe9.md"),
        "250 letters": "a" * 247 + ".md",
        "a mark of direction": "a\u202egnp.md",
        "a record": "a.jsonl#b.md",
        "a URL": "http:",
    }
    for what, name in names.items():
        yield HostileFolder(
            f"document: the name has {what}",
            partial(_write_document, name=name),
        )
    for module in ("pip", "crx", "numpy", "runpy", "huggingface_hub", "sitecustomize", "usearch"):
        yield HostileFolder(
            f"document: a module named {module}", partial(_write_module, name=module)
        )
    yield HostileFolder(
        "document: a pipe", lambda places: os.mkfifo(places.work / "docs" / "pipe.md")
    )
    yield HostileFolder(
        "document: links in a circle",
        lambda places: (places.work / "docs" / "circle").symlink_to(places.work),
    )
    yield HostileFolder("document: a folder a hundred deep", _nest)
    yield HostileFolder("document: a sparse file", _make_sparse)


def _nest(places: Places) -> None:
    folder = places.work.joinpath("docs", *["d"] * 100)
    folder.mkdir(parents=True)
    (folder / "deep.md").write_text("deep whales")


def _make_sparse(places: Places) -> None:
    with (places.work / "docs" / "sparse.md").open("wb") as file:
        file.truncate(1 << 40)


def _rows() -> Iterator[HostileFolder]:
    """Yield folders whose rows name files outside: of a schema that fits and hashes that do not."""
    statements = {
        "documents": "UPDATE document SET uri = '/dev/zero' WHERE doc = 1",
        "the format": "PRAGMA user_version = 99",
        "a trigger": "CREATE TRIGGER t AFTER INSERT ON document BEGIN DELETE FROM context; END",
        "a view": "CREATE VIEW v AS SELECT load_extension('/tmp/x.so')",
        "derived files by path": "UPDATE derived SET file = '../../../outside/secret.md'",
        "derived files by full path": "UPDATE derived SET file = '/etc/hostname'",
    }
    for what, statement in statements.items():
        yield HostileFolder(f"row: {what}", partial(_execute, statement=statement))
    yield HostileFolder("row: a document outside", _put_document_outside)


def _execute(places: Places, *, statement: str) -> None:
    with closing(sqlite3.connect(places.index / "crx.db")) as db:
        db.executescript(statement)
        db.commit()


def _put_document_outside(places: Places) -> None:
    store = _native.Store.open(str(places.index), write=True)
    try:
        for row in store.documents():
            path = str(places.outside / "secret.md")
            metadata = orjson.dumps({**orjson.loads(row.metadata), "path": path})
            store.rename_document(
                row.uri, f"{path}#{row.doc}", metadata=metadata.decode(), source_mtime_ns=0
            )
    finally:
        store.close()
