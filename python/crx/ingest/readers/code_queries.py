"""Tree-sitter grammars and the queries that find definitions, one query a language.

Each query captures what is worth a name. The capture's name is the word a programmer would write
before it: `@class` with `@name` Foo is labelled "class Foo". `@top.` restricts a capture to the top
of a file, `@table.` to the top and to several lines.
"""

from __future__ import annotations

import importlib
from functools import cache

from tree_sitter import Language, Parser, Query

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
(type_declaration (type_spec name: (_) @name type: (struct_type))) @type
(type_declaration (type_spec name: (_) @name type: (interface_type))) @interface
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
_GRAMMARS = {
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
}


class Unparsed(Exception):
    """The definitions of a text cannot be found; the message is the reason."""


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


def make_parser(language: str) -> Parser:
    """Return a new parser: parsers are not thread-safe, and one takes 2 microseconds to make."""
    return Parser(load_grammar(language))


@cache
def load_query(language: str) -> Query:
    """Return the query that finds the definitions of a language."""
    return Query(load_grammar(language), _QUERIES[language])
