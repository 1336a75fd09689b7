"""The imports between the files of the Rust core, among which there is no circle."""

from __future__ import annotations

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

RUST = Path(__file__).parent.parent / "rust"

# `mod tests` and test-only methods stand at the end of a file.
TESTS = re.compile(r"^#\[cfg\(test\)\].*", re.MULTILINE | re.DOTALL)
COMMENTS = re.compile(r"//.*")
PATH = re.compile(r"(pub use )?\b((?:crate|super|self)(?=::)(?:::\w+)*)(?:::\{([^;]*)\})?")
CHILD = re.compile(r"(pub use )?(?<![\w:])(\w+)::(\w+|\{[^;]*\})")

Graph = dict[str, set[str]]


def module_of(file: str) -> tuple[str, ...]:
    parts = tuple(Path(file).with_suffix("").parts)
    return parts[:-1] if parts[-1] in ("mod", "lib") else parts


def branches(group: str) -> Iterator[str]:
    """Yield the paths of `a, b::{c, d}`, the inside of a use group."""
    depth, start = 0, 0
    for at, char in enumerate(f"{group},"):
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            head, _, rest = group[start:at].strip().partition("::{")
            yield from (f"{head}::{each}" for each in branches(rest[:-1])) if rest else (head,)
            start = at + 1


def paths(code: str, module: tuple[str, ...], children: set[str]) -> Iterator[tuple[str, ...]]:
    """Yield the absolute paths that a file uses; what a `pub use` passes on is not used."""
    for passed_on, path, group in PATH.findall(code):
        first, *steps = path.split("::")
        while first == "super" and steps[:1] == ["super"]:
            module, steps = module[:-1], steps[1:]
        start = {"crate": (), "self": module, "super": module[:-1]}[first]
        for branch in branches(group) if group else ("",):
            if not passed_on:
                yield (*start, *steps, *filter(None, branch.split("::")))
    for passed_on, child, rest in CHILD.findall(code):
        if child in children and not passed_on:
            for branch in branches(rest[1:-1]) if rest.startswith("{") else (rest,):
                yield (*module, child, *branch.split("::"))


def imports(files: dict[str, str]) -> Graph:
    """Return the files that each file uses; a name that a `mod.rs` re-exports is its origin's."""
    code = {
        file: TESTS.sub("", COMMENTS.sub("", text))
        for file, text in files.items()
        if Path(file).name != "tests.rs"
    }
    modules = {module_of(file): file for file in code}
    origins: dict[tuple[str, ...], tuple[str, ...]] = {}
    for module, file in modules.items():
        for child, rest in re.findall(r"pub use (?:self::)?(\w+)::(\w+|\{[^;]*\});", code[file]):
            for name in branches(rest[1:-1]) if rest.startswith("{") else (rest,):
                origins[(*module, name)] = (*module, child)
    graph: Graph = {}
    for module, file in modules.items():
        children = {other[-1] for other in modules if other and other[:-1] == module}
        used = set()
        for path in paths(code[file], module, children):
            ends = [path[:length] for length in range(len(path), -1, -1)]
            whole = next((origins[end] for end in ends if end in origins), path)
            longest = (whole[:length] for length in range(len(whole), -1, -1))
            used.add(next(modules[each] for each in longest if each in modules))
        graph[file] = used - {file}
    return graph


def circle(graph: Graph) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def read() -> dict[str, str]:
    found = sorted(RUST.rglob("*.rs"))
    return {str(path.relative_to(RUST)): path.read_text(encoding="utf-8") for path in found}


def test_no_circle_of_imports_among_the_files_of_the_core() -> None:
    graph = imports(read())
    assert "lexical/segment.rs" in graph["lexical/postings.rs"]
    assert "store/filter.rs" in graph["lexical/topk.rs"]
    assert circle(graph) == []


def test_a_circle_is_found_through_groups_parents_and_re_exports() -> None:
    files = {
        "lib.rs": "pub mod a;\npub mod b;\n",
        "a/mod.rs": "mod c;\npub use c::{Deep, Other};\nfn f() { c::g() }\n",
        "a/c.rs": "use super::super::b::{self, x::Y};\npub struct Deep;\n",
        "b.rs": "/// Not [`crate::a`].\npub struct B;\n",
    }
    assert imports(files) == {
        "lib.rs": set(),
        "a/mod.rs": {"a/c.rs"},
        "a/c.rs": {"b.rs"},
        "b.rs": set(),
    }
    assert circle(imports(files)) == []
    files["b.rs"] = "use super::a::Deep;\n#[cfg(test)]\nmod tests { use crate::a; }\n"
    assert set(circle(imports(files))) == {"a/c.rs", "b.rs"}
