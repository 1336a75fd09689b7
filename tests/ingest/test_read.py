"""Which files are found under a path, and what becomes of each."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from crx.errors import InputError, NotText, UsageError
from crx.ingest import readers
from crx.ingest.discover import Root, discover, require_paths
from crx.ingest.read import read_bytes, read_file
from crx.types import Document

ROOT = Path(__file__).parents[2]


def grow(root: Path, *paths: str) -> None:
    """Make files of five bytes under a root."""
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("words")


def ignore(folder: Path, *lines: str, name: str = ".gitignore") -> None:
    """Write an ignore file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join(lines))


def found(root: Path, *, exclude: Sequence[str] = ()) -> list[str]:
    """Return what is found under a root, relative to it."""
    files = discover([Root.at(root, exclude=exclude)]).files
    return [file.path.relative_to(root).as_posix() for file in files]


class TestDiscover:
    def test_files_come_in_the_order_of_their_names(self, tmp_path: Path) -> None:
        grow(tmp_path, "b.md", "a/z.md", "a/b/c.md", "c.md", "B.md")
        assert found(tmp_path) == ["B.md", "a/b/c.md", "a/z.md", "b.md", "c.md"]

    def test_a_file_says_where_it_is_and_how_large(self, tmp_path: Path) -> None:
        grow(tmp_path, "a/b.md")
        (file,) = discover([Root.at(tmp_path)]).files
        path = tmp_path / "a" / "b.md"
        assert (file.path, file.root, file.uri) == (path, str(tmp_path), path.as_posix())
        assert (file.size, file.mtime_ns) == (5, path.stat().st_mtime_ns)

    def test_hidden_files_and_indexes_are_passed_over(self, tmp_path: Path) -> None:
        grow(tmp_path, ".git/a", ".hidden.md", "notes.crx/crx.db", "sub/.b/c.md", "a.md", "b.crx")
        assert found(tmp_path) == ["a.md", "b.crx"]

    def test_ignore_files_speak_as_git_does(self, tmp_path: Path) -> None:
        grow(
            tmp_path, "a.log", "keep.log", "sub/a.log", "sub/deep/b.log", "sub/deep/x.md",
            "build/a.md", "sub/build/b.md", "only/here.md", "sub/only/here.md",
        )  # fmt: skip
        ignore(tmp_path, "# a comment", "*.log", "!keep.log", "build/", "/only", "")
        ignore(tmp_path / "sub", "!a.log", "deep/*.md")
        assert found(tmp_path) == ["keep.log", "sub/a.log", "sub/only/here.md"]

    def test_a_file_in_an_ignored_folder_stays_ignored(self, tmp_path: Path) -> None:
        grow(tmp_path, "out/a.md", "b.md")
        ignore(tmp_path, "out/", "!out/a.md")
        assert found(tmp_path) == ["b.md"]

    def test_crxignore_overrules_ignore_and_gitignore(self, tmp_path: Path) -> None:
        grow(tmp_path, "a.md", "b.md", "c.md")
        ignore(tmp_path, "*.md")
        ignore(tmp_path, "!a.md", "!b.md", name=".ignore")
        ignore(tmp_path, "b.md", "!c.md", name=".crxignore")
        assert found(tmp_path) == ["a.md", "c.md"]

    def test_the_repository_above_a_folder_speaks_too(self, tmp_path: Path) -> None:
        grow(tmp_path, ".git/HEAD", "docs/a.md", "docs/b.tmp", "build/docs/c.md")
        ignore(tmp_path, "*.tmp", "build/")
        assert found(tmp_path / "docs") == ["a.md"]
        assert found(tmp_path / "build" / "docs") == ["c.md"], "it was asked for"

    def test_excluded_files_are_out_whatever_ignore_files_say(self, tmp_path: Path) -> None:
        grow(tmp_path, "a.md", "sub/a.md", "sub/b.md", "drafts/c.md")
        ignore(tmp_path, "!a.md")
        assert found(tmp_path, exclude=["a.md", "drafts/"]) == ["sub/b.md"]

    def test_a_file_that_is_named_is_taken_whatever_ignores_it(self, tmp_path: Path) -> None:
        grow(tmp_path, ".hidden/a.log")
        ignore(tmp_path, "*.log")
        path = tmp_path / ".hidden" / "a.log"
        assert [f.path for f in discover([Root.at(path, exclude=["*"])]).files] == [path]

    def test_a_file_is_found_once(self, tmp_path: Path) -> None:
        grow(tmp_path, "a.md", "b/c.md")
        paths = [tmp_path / "b" / ".." / "a.md", tmp_path, tmp_path / "b"]
        assert [f.path.name for f in discover(list(map(Root.at, paths))).files] == ["a.md", "c.md"]

    def test_links_are_not_followed_unless_named(self, tmp_path: Path) -> None:
        grow(tmp_path, "tree/a.md", "outside/secret.md")
        tree = tmp_path / "tree"
        (tree / "loop").symlink_to(tree)
        (tree / "out").symlink_to(tmp_path / "outside")
        (tree / "file.md").symlink_to(tmp_path / "outside" / "secret.md")
        assert found(tree) == ["a.md"]
        assert [f.path.name for f in discover([Root.at(tree / "out")]).files] == ["secret.md"]

    def test_a_path_that_is_not_there_is_an_error_before_any_work(self, tmp_path: Path) -> None:
        grow(tmp_path, "a.md")
        with pytest.raises(UsageError, match=r"gone: no such file or folder"):
            require_paths([tmp_path, tmp_path / "gone"])

    def test_what_is_neither_file_nor_folder_is_passed_over_or_an_error(
        self, tmp_path: Path
    ) -> None:
        os.mkfifo(tmp_path / "pipe")
        assert found(tmp_path) == []
        with pytest.raises(UsageError, match="neither a file nor a folder"):
            require_paths([tmp_path / "pipe"])

    def test_a_name_that_is_no_text_has_a_uri_that_is(self, tmp_path: Path) -> None:
        (Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md"))).write_text("words")
        (file,) = discover([Root.at(tmp_path)]).files
        assert file.uri == f"{tmp_path.as_posix()}/caf\\xe9.md"
        assert [document.text for document in read_file(file.path)] == ["words"]


class TestReadFile:
    def test_a_file_is_known_by_its_absolute_path(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        grow(tmp_path, "a.md")
        monkeypatch.chdir(tmp_path)
        (document,) = read_file(Path("a.md"))
        assert document.uri == (tmp_path / "a.md").as_posix()

    def test_a_uri_can_be_given(self, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").write_text('{"id": "x", "text": "b"}')
        assert [d.uri for d in read_file(tmp_path / "a.jsonl", uri="mem:1")] == ["mem:1#x"]

    def test_a_file_that_is_gone_says_so(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="cannot be read: no such file"):
            next(read_file(tmp_path / "gone.md"))

    def test_a_folder_that_cannot_be_listed_says_so(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="is a folder that cannot be listed"):
            next(read_file(tmp_path))

    def test_a_binary_file_is_told_from_one_that_failed(self) -> None:
        with pytest.raises(NotText):
            next(read_bytes(bytes(range(256)), name="a.png"))

    @pytest.mark.parametrize("name", ["manual.ps", "manual"])
    def test_postscript_is_no_text_though_it_consists_of_letters(self, name: str) -> None:
        page = b"%!PS-Adobe-3.0\n/Times-Roman findfont setfont\n(Wha) show (les) show\n"
        with pytest.raises(NotText, match="is PostScript; save it as PDF or text"):
            next(read_bytes(page, name=name))


class Shout:
    """A reader that another package might bring."""

    extensions = (".txt",)

    def read(self, data: bytes, *, name: str) -> Iterator[Document]:
        yield Document(name, data.decode().upper())


@dataclass(frozen=True)
class Entry:
    """What `importlib.metadata` says of a plug."""

    name: str

    def load(self) -> Shout:
        return Shout()


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Return a function that installs readers by name; they are gone after the test."""

    def installed(*names: str) -> None:
        entries = {"crx.readers": {name: Entry(name) for name in names}}
        monkeypatch.setattr(readers, "find_plugins", lambda group: entries[group])
        readers._load_plugins.cache_clear()

    yield installed
    readers._load_plugins.cache_clear()


class TestPlug:
    def test_a_reader_of_another_package_goes_before_ours(
        self, install: Callable[..., None]
    ) -> None:
        install("shout")
        (document,) = read_bytes(b"words", name="a.txt")
        assert (document.text, document.metadata) == ("WORDS", {"ext": "txt"})

    def test_two_packages_for_one_extension_are_an_error(
        self, install: Callable[..., None]
    ) -> None:
        install("two", "one")
        with pytest.raises(
            UsageError, match=r"\.txt: claimed by the readers 'one' and 'two'; uninstall one"
        ):
            next(read_bytes(b"words", name="a.txt"))


@pytest.mark.parametrize("name", sorted(readers.EXTENSIONS))
def test_a_reader_is_found_by_each_of_its_extensions_and_described(name: str) -> None:
    if name == "parquet":
        pytest.importorskip("pyarrow")
    reader = readers.load_reader(name)
    assert {readers.reader_for(extension) for extension in reader.extensions} == {reader}
    if name != "code":  # whose languages are described
        described = (ROOT / "docs" / "reference" / "formats.md").read_text()
        assert [each for each in reader.extensions if f"`{each}`" not in described] == []


def test_a_format_costs_nothing_until_a_file_asks_for_it(tmp_path: Path) -> None:
    grow(tmp_path, "a.txt", "b.md")
    script = (
        "import sys; from pathlib import Path\n"
        "from crx.ingest.discover import Root, discover\n"
        "from crx.ingest.read import read_file\n"
        f"for found in discover([Root.at({str(tmp_path)!r})]).files: list(read_file(found.path))\n"
        "heavy = {'tree_sitter', 'pypdfium2', 'selectolax', 'chardet'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
