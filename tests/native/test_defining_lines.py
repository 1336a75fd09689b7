"""Lines that define a name, and lines that use it."""

from __future__ import annotations

import time

import pytest

from crx._native import declaration


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("    def parse_known_args(self, args=None):", "parse_known_args"),
        ("    async def fetch_rows(self):", "fetch_rows"),
        ("pub(crate) fn read_all<T>(input: T) -> T {", "read_all"),
        ("func (r *Reader) ReadAll(n int) error {", "ReadAll"),
        ("export default class SearchForm extends Form {", "SearchForm"),
        ("type HandlerFunc func(w Writer)", "HandlerFunc"),
        ("static int foo_bar(int x)", "foo_bar"),
        ("#define FOO_BAR 3", "FOO_BAR"),
        ("MAX_SIZE = 3", "MAX_SIZE"),
        ("app.get_x = function () {", "app.get_x"),
        ('  "maxSize": 3,', "maxSize"),
        ("     ControlMaster", "ControlMaster"),
        (".It Cm ControlMaster", "ControlMaster"),
        ("- `MAX_SIZE`: the size", "MAX_SIZE"),
        ("**--no-edit**  keeps the message", "--no-edit"),
        ("ZX-1042,Bolt,3.20", "ZX-1042"),
        ("|ZX-1042|Bolt|3.20|", "ZX-1042"),
        ("## E0308: mismatched types", "E0308"),
    ],
)
def test_a_line_defines_a_name(line: str, name: str) -> None:
    assert declaration("", f"first\n{line}\nlast", name)


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
        ("    if not max_size:", "max_size"),
        ("def f(\n    a: int,\n    max_size,\n):\n    return {a: [1], 2: (3)}", "max_size"),
        ("Set ControlMaster to yes", "ControlMaster"),
        ("see ZX-1042 for bolts", "ZX-1042"),
    ],
)
def test_a_line_that_uses_a_name_does_not_define_it(line: str, name: str) -> None:
    assert not declaration("", f"first\n{line}\nlast", name)


def test_twice_the_text_takes_about_twice_the_time() -> None:
    def seconds(count: int) -> float:
        text = "pub " * count + "\n" + "a " * 2 * count + "\n" + "- " * count
        taken = []
        for _ in range(3):
            started = time.process_time()
            assert not declaration("", text, "foo_bar")
            taken.append(time.process_time() - started)
        return min(taken)

    assert seconds(400_000) < 3 * seconds(200_000)
