"""Definitions of source code by the tree-sitter grammars of eight languages.

The grammars belong to crx. A query of the language runs in the parser's own loop, so that no Python
object is made for the nodes between definitions.
"""

from __future__ import annotations

import importlib
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from tree_sitter import Language, Node, Parser, Query, QueryCursor

from crx.ingest.readers.code import Unparsed
from crx.ingest.readers.headings import in_order
from crx.types import Mark

# Tree-sitter grammars and the queries that find definitions, one query a language.
#
# Each query captures what is worth a name. The capture's name is the word a programmer would write
# before it: `@class` with `@name` Foo is labelled "class Foo". `@top.` restricts a capture to the
# top of a file, `@table.` to the top and to several lines.
_SCRIPT = """
(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
(class_declaration name: (_) @name) @class
(method_definition name: (_) @name) @method
(lexical_declaration
  (variable_declarator
    name: (identifier) @name
    value: [(arrow_function) (function_expression)])) @top.function
(lexical_declaration
  (variable_declarator
    name: (identifier) @name
    value: [(object) (array) (call_expression)])) @table.const
(expression_statement
  (assignment_expression
    left: (member_expression) @name
    right: [(arrow_function) (function_expression) (generator_function)])) @top.function
(expression_statement
  (assignment_expression left: (member_expression) @name right: (class))) @top.class
"""
_TYPED = """
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(type_alias_declaration name: (_) @name) @type
(internal_module name: (_) @name) @namespace
"""
_C = """
(function_definition declarator: (_) @declarator) @function
(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @union
(enum_specifier name: (_) @name body: (_)) @enum
(type_definition
  type: [
    (struct_specifier !name body: (_))
    (union_specifier !name body: (_))
    (enum_specifier !name body: (_))]
  declarator: (type_identifier) @name) @typedef
(declaration
  declarator: (init_declarator
    declarator: (_) @declarator
    value: (initializer_list))) @table.table
"""
_QUERIES = {
    "python": """
(function_definition name: (_) @name) @def
(class_definition name: (_) @name) @class
(expression_statement
  (assignment
    left: (identifier) @name
    right: [(dictionary) (list) (set) (tuple) (call)])) @table.constant
""",
    "rust": """
(function_item name: (_) @name) @fn
(function_signature_item name: (_) @name) @fn
(struct_item name: (_) @name) @struct
(enum_item name: (_) @name) @enum
(union_item name: (_) @name) @union
(trait_item name: (_) @name) @trait
(impl_item trait: (_)? @offered type: (_) @receiver) @impl
(mod_item name: (_) @name body: (_)) @mod
(macro_definition name: (_) @name) @macro_rules
(const_item name: (_) @name) @table.const
(static_item name: (_) @name) @table.static
""",
    "javascript": _SCRIPT,
    "typescript": _SCRIPT + _TYPED,
    "tsx": _SCRIPT + _TYPED,
    "go": """
(function_declaration name: (_) @name) @func
(method_declaration
  receiver: (parameter_list (parameter_declaration type: (_) @receiver))
  name: (_) @name) @func
((type_declaration
  (type_spec
    name: (_) @name
    type: [
      (struct_type) (function_type) (map_type) (slice_type) (array_type) (channel_type)
      (pointer_type) (generic_type) (qualified_type) (type_identifier)])) @type
  (#not-match? @type "^type *[(]"))
((type_declaration (type_spec name: (_) @name type: (interface_type))) @interface
  (#not-match? @interface "^type *[(]"))
((type_declaration (type_alias name: (_) @name)) @type (#not-match? @type "^type *[(]"))
(type_declaration
  "(" (type_spec
    name: (_) @name
    type: [
      (struct_type) (function_type) (map_type) (slice_type) (array_type) (channel_type)
      (pointer_type) (generic_type) (qualified_type) (type_identifier)]) @type)
(type_declaration "(" (type_spec name: (_) @name type: (interface_type)) @interface)
(type_declaration "(" (type_alias name: (_) @name) @type)
(const_declaration . (const_spec name: (_) @name)) @table.const
(var_declaration (var_spec name: (_) @name)) @table.var
""",
    "java": """
(class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(record_declaration name: (_) @name) @record
(annotation_type_declaration name: (_) @name) @annotation
(method_declaration name: (_) @name) @method
(constructor_declaration name: (_) @name) @constructor
""",
    "c": _C,
    "cpp": _C
    + """
(class_specifier name: (_) @name body: (_)) @class
(namespace_definition name: (_) @name) @namespace
""",
}
LANGUAGES = frozenset(_QUERIES)
_GRAMMARS = {
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
}


@cache
def load_grammar(name: str) -> Language:
    """Return a language's grammar; raise `Unparsed` if its package is not installed."""
    module, function = _GRAMMARS.get(name, (f"tree_sitter_{name}", "language"))
    try:
        return Language(getattr(importlib.import_module(module), function)())
    except ImportError as missing:
        raise Unparsed(
            f"no grammar for {name}: {module.replace('_', '-')} is not installed"
        ) from missing


def parse(source: bytes, *, language: str) -> Node:
    """Return the root of a syntax tree.

    Raises `Unparsed` if the grammar is not installed, and for a source in which thousands of tokens
    stand together in an error: a query would look through all of them from each one.
    """
    # Parsers are not thread-safe, and one takes 2 microseconds to make.
    root = Parser(load_grammar(language)).parse(source).root_node
    unsearched = [root] if root.has_error else []
    while unsearched:
        tokens = 0
        for child in unsearched.pop().children:
            tokens = 0 if child.is_named else tokens + 1
            if tokens > _MOST_TOKENS:
                raise Unparsed("holds thousands of tokens that are no code")
            if child.has_error and child.end_byte - child.start_byte > _MOST_TOKENS:
                unsearched.append(child)
    return root


@cache
def load_query(language: str) -> Query:
    """Return the query that finds the definitions of a language."""
    return Query(load_grammar(language), _QUERIES[language])


# Constants of so many lines are tables, and worth a name; shorter ones are not.
_TABLE_LINES = 4

# Levels of a tree in which definitions are looked for. The time for a node grows with its level,
# and a text of nothing but brackets has as many levels as characters.
_DEEPEST = 500
# Tokens that may stand together in an error.
_MOST_TOKENS = 5_000
_NOT_SPACE = re.compile(rb"\S")

_ROOTS = frozenset(("module", "program", "source_file", "translation_unit"))
_PARTS = frozenset(("name", "declarator", "offered", "receiver"))
# Nodes around a definition that belong to it.
_WRAPPERS = frozenset(
    (
        "decorated_definition",
        "export_statement",
        "template_declaration",
        "ambient_declaration",
    )
)
# Nodes before a definition, without a blank line between, that belong to it.
_LEADING = frozenset(("comment", "line_comment", "block_comment", "attribute_item", "decorator"))


def definitions(text: str, *, language: str) -> tuple[Mark, ...]:
    """Return the definitions of a source text, the outer before the inner.

    Raises `Unparsed` if its grammar is not installed.
    """
    source = text.encode("utf-8", errors="replace")
    tree = _Tree(parse(source, language=language), source)
    cursor = QueryCursor(load_query(language))
    cursor.set_max_start_depth(_DEEPEST)
    found: dict[tuple[int, int], _Definition] = {}
    for _, captures in cursor.matches(tree.root):
        definition = _definition(captures, tree)
        if definition and (definition.start, definition.end) not in found:
            found[definition.start, definition.end] = definition
    return _nested(sorted(found.values(), key=lambda d: (d.start, -d.end)), source)


@cache
def _errors(language: str) -> Query:
    return Query(load_grammar(language), "(ERROR) @error")


def error_share(sample: str, language: str) -> float:
    """Return the share of the text that lies in errors of its syntax tree; 1 without a grammar."""
    source = sample.encode("utf-8", errors="replace")
    try:
        root = parse(source, language=language)
    except Unparsed:
        return 1.0
    if not root.has_error:
        return 0.0
    covered = reach = 0
    errors = QueryCursor(_errors(language)).captures(root).get("error", [])
    for node in sorted(errors, key=lambda node: node.start_byte):
        covered += max(0, node.end_byte - max(reach, node.start_byte)) + 1
        reach = max(reach, node.end_byte)
    return covered / max(1, len(source))


@dataclass(frozen=True, slots=True)
class _Definition:
    """A definition's span in bytes, and its label."""

    start: int
    end: int
    label: str


class _Tree:
    """A syntax tree, and what stands around the definitions in it.

    The library's own `parent` and `prev_sibling` pass all nodes before, so that the time for all
    definitions would grow with the square of their number.
    """

    def __init__(self, root: Node, source: bytes) -> None:
        self.root = root
        self.source = source
        self._children: dict[int, tuple[list[Node], list[int]]] = {}
        self._leading: dict[int, int] = {}
        self._texts: dict[int, int] = {}

    def is_at_top(self, node: Node) -> bool:
        """Return True for a node that lies in nothing but the file, wrappers aside."""
        around = (outer for outer, _ in reversed(self._path(node)) if outer.type not in _WRAPPERS)
        outermost = next(around, None)
        return outermost is not None and outermost.type in _ROOTS

    def leading(self, node: Node) -> int:
        """Return the byte where a definition starts, with decorators, attributes and comments.

        The indentation before it is included, so that it reads the same when cut out.
        """
        if node.id not in self._leading:
            self._leading[node.id] = self._find_leading(node)
        return self._leading[node.id]

    def _find_leading(self, node: Node) -> int:
        path = self._path(node)
        while path and path[-1][0].type in _WRAPPERS:
            node, _ = path.pop()
        around, position = path[-1] if path else (node, 0)
        children, _ = self._children_of(around)
        while position and children[position - 1].type in _LEADING:
            position -= 1
            if not self._touches(children[position], node):
                break
            node = children[position]
        return _line_start(node) if self._opens_line(node) else node.start_byte

    def _touches(self, before: Node, node: Node) -> bool:
        """Return True if a comment has lines of its own, the last directly above the node."""
        gap = self.source[before.end_byte : node.start_byte]
        # Rust's doc comments include the end of the line.
        ended = self.source[before.end_byte - 1 : before.end_byte] == b"\n"
        return self._opens_line(before) and gap.count(b"\n") + ended <= 1

    def _opens_line(self, node: Node) -> bool:
        """Return True if nothing but white space stands before a node in its line."""
        line = _line_start(node)
        if line not in self._texts:
            text = _NOT_SPACE.search(self.source, line)
            self._texts[line] = text.start() if text else len(self.source)
        return self._texts[line] >= node.start_byte

    def _path(self, node: Node) -> list[tuple[Node, int]]:
        """Return the nodes around a node, the root first, and which child of each leads to it."""
        path = []
        around = self.root
        while around != node:
            children, starts = self._children_of(around)
            position = bisect_right(starts, node.start_byte) - 1
            path.append((around, position))
            around = children[position]
        return path

    def _children_of(self, node: Node) -> tuple[list[Node], list[int]]:
        if node.id not in self._children:
            children = node.children
            self._children[node.id] = children, [child.start_byte for child in children]
        return self._children[node.id]


def _line_start(node: Node) -> int:
    return node.start_byte - node.start_point.column


def _definition(captures: dict[str, list[Node]], tree: _Tree) -> _Definition | None:
    """Return the definition of a match, or None if it is too small or has no name."""
    word = next((word for word in captures if word not in _PARTS), "")
    if not word:
        return None
    node = captures[word][0]
    scope, _, keyword = word.rpartition(".")
    if scope and not tree.is_at_top(node):
        return None
    if scope == "table" and node.end_point.row - node.start_point.row + 1 < _TABLE_LINES:
        return None
    label = _label(keyword, captures)
    if not label:
        return None
    end = node.end_byte
    if tree.source[end : end + 1] == b";":
        end += 1
    return _Definition(tree.leading(node), end, label)


def _label(word: str, captures: dict[str, list[Node]]) -> str:
    parts = {part: _plain(nodes[0]) for part, nodes in captures.items() if part in _PARTS}
    if word == "impl":
        offered = f"{parts['offered']} for " if "offered" in parts else ""
        return f"impl {offered}{parts['receiver']}"
    if "declarator" in parts:
        name = _declared_name(captures["declarator"][0])
        return f"{word} {name}" if name else ""
    if "receiver" in parts:
        return f"{word} ({parts['receiver']}) {parts['name']}"
    return f"{word} {parts['name']}"


def _plain(node: Node) -> str:
    """Return a name on one line, without its type parameters."""
    text = " ".join((node.text or b"").decode("utf-8", errors="replace").split())
    start, end = text.find("<"), text.rfind(">")
    return (text[:start] + text[end + 1 :] if 0 <= start < end else text)[:120]


def _declared_name(node: Node) -> str:
    """Return the name that a C declarator declares: that of `*f(int)` is f."""
    inner: Node | None = node
    while inner is not None:
        if inner.type.endswith(("identifier", "_name")):
            return _plain(inner)
        node = inner
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type in (
            "parenthesized_declarator",
            "reference_declarator",
        ):
            inner = node.named_child(node.named_child_count - 1)
    return ""


def _nested(found: Sequence[_Definition], source: bytes) -> tuple[Mark, ...]:
    """Return the marks of definitions that lie in each other, with offsets in code points."""
    at = _code_points(source, sorted({edge for d in found for edge in (d.start, d.end)}))
    marks: list[Mark] = []
    open_: list[int] = []
    for definition in found:
        while open_ and open_[-1] <= definition.start:
            open_.pop()
        if open_ and definition.end > open_[-1]:
            continue  # a broken source: half in and half out
        open_.append(definition.end)
        start, end = at[definition.start], at[definition.end]
        marks.append(Mark("definition", start, end, definition.label, len(open_)))
    return in_order(marks)


def _code_points(source: bytes, edges: Sequence[int]) -> dict[int, int]:
    """Return the code point that each byte offset, ascending, is."""
    if source.isascii():
        return {edge: edge for edge in edges}
    at = {0: 0}
    for before, edge in pairwise((0, *edges)):
        at[edge] = at[before] + len(source[before:edge].decode("utf-8", errors="replace"))
    return at
