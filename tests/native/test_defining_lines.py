"""Lines that define a name, and lines that use it."""

from __future__ import annotations

import time

import pytest

from crx._native import Declaration, declarations

DEFINITION, MEMBER = Declaration.DEFINITION, Declaration.MEMBER
VALUE, NONE = Declaration.VALUE, Declaration.NONE


def declaration(uri: str, text: str, name: str) -> Declaration:
    """Return how one text declares a name."""
    (found,) = declarations([(uri, text)], name)
    return found


def test_a_declaration_says_more_of_a_name_the_greater_it_is() -> None:
    assert sorted([DEFINITION, NONE, MEMBER, VALUE]) == [NONE, VALUE, MEMBER, DEFINITION]


def test_texts_are_read_each_with_its_own_path() -> None:
    rows = [("a.py", "def read():"), ("a.py", "x = read()"), ("b.py", "read = 3")]
    assert declarations(rows, "read") == [DEFINITION, NONE, MEMBER]


@pytest.mark.parametrize(
    ("line", "name", "expected"),
    [
        ("    def parse_known_args(self, args=None):", "parse_known_args", DEFINITION),
        ("    async def fetch_rows(self):", "fetch_rows", DEFINITION),
        ("pub(crate) fn read_all<T>(input: T) -> T {", "read_all", DEFINITION),
        ("func (r *Reader) ReadAll(n int) error {", "ReadAll", DEFINITION),
        ("export default class SearchForm extends Form {", "SearchForm", DEFINITION),
        ("type HandlerFunc func(w Writer)", "HandlerFunc", DEFINITION),
        ("static int foo_bar(int x)", "foo_bar", DEFINITION),
        ("#define FOO_BAR 3", "FOO_BAR", DEFINITION),
        ("MAX_SIZE = 3", "MAX_SIZE", MEMBER),
        ("app.get_x = function () {", "app.get_x", DEFINITION),
        ('  "maxSize": 3,', "maxSize", VALUE),
        ("     ControlMaster", "ControlMaster", MEMBER),
        (".It Cm ControlMaster", "ControlMaster", MEMBER),
        ("- `MAX_SIZE`: the size", "MAX_SIZE", MEMBER),
        ("**--no-edit**  keeps the message", "--no-edit", MEMBER),
        ("ZX-1042,Bolt,3.20", "ZX-1042", MEMBER),
        ("|ZX-1042|Bolt|3.20|", "ZX-1042", MEMBER),
        ("## E0308: mismatched types", "E0308", MEMBER),
    ],
)
def test_a_line_defines_a_name(line: str, name: str, expected: Declaration) -> None:
    assert declaration("", f"first\n{line}\nlast", name) == expected


@pytest.mark.parametrize(
    "name", ["value", "default", "open", "local", "replace", "temp", "required", "var", "val"]
)
def test_a_name_that_is_also_a_modifier_is_given_a_value(name: str) -> None:
    assert declaration("a.py", f"def f(x):\n    {name} = 3\n", name) == VALUE
    assert declaration("a.py", f"run(\n    {name} = 3,\n)\n", name) == VALUE
    assert declaration("a.go", f"type T struct {{\n\t{name} int\n}}\n", name) == MEMBER


def test_a_condition_is_no_declaration() -> None:
    for text in (
        "if MAX_SIZE:\n    f()\n",
        "class A:\n    return MAX_SIZE, x\n",
        "class A:\n    if MAX_SIZE:\n        f()\n",
        "match x:\n    case MAX_SIZE:\n        f()\n",
    ):
        assert declaration("a.py", text, "MAX_SIZE") == NONE
    assert declaration("a.py", "if MAX_SIZE:\n    f()\nMAX_SIZE = 3\n", "MAX_SIZE") == DEFINITION


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("    namespace, args = self.parse_known_args(args)", "parse_known_args"),
        ("def parse_known_args_too(self):", "parse_known_args"),
        ("    return foo_bar(x);", "foo_bar"),
        ("Use of type foo_bar is rare", "foo_bar"),
        ("if MAX_SIZE == 3:", "MAX_SIZE"),
        ("MAX_SIZE == 3", "MAX_SIZE"),
        ("if MAX_SIZE:", "MAX_SIZE"),
        ("case MAX_SIZE:", "MAX_SIZE"),
        ("    if not max_size:", "max_size"),
        ("def f(\n    a: int,\n    max_size,\n):\n    return {a: [1], 2: (3)}", "max_size"),
        ("Set ControlMaster to yes", "ControlMaster"),
        ("see ZX-1042 for bolts", "ZX-1042"),
    ],
)
def test_a_line_that_uses_a_name_does_not_define_it(line: str, name: str) -> None:
    assert declaration("", f"first\n{line}\nlast", name) == NONE


def test_twice_the_text_takes_about_twice_the_time() -> None:
    def seconds(count: int) -> float:
        text = "pub " * count + "\n" + "a " * 2 * count + "\n" + "- " * count
        taken = []
        for _ in range(3):
            started = time.process_time()
            assert declaration("", text, "foo_bar") == NONE
            taken.append(time.process_time() - started)
        return min(taken)

    assert seconds(400_000) < 3 * seconds(200_000)


@pytest.mark.parametrize("name", ["élan", "Élan", "ÉLAN"])
def test_letters_with_accents_have_no_case_either(name: str) -> None:
    assert declaration("a.py", "class Élan:\n    pass\n", name) == DEFINITION
    assert declaration("a.py", "class Élans:\n    pass\n", name) == NONE
