"""Pages in the macros of `mdoc`, the man pages of BSD: what a terminal shows of their lines.

A line is one macro or more, each with words; the words are put together with the blanks, brackets
and hyphens that its macros stand for.
"""

from __future__ import annotations

from typing import NamedTuple

from crx_formats.man_text import LineForm, ManText, lines_outside_tables
from crx_formats.roff import Line, Roff, split_arguments

# Macros that enclose the rest of their line, and pairs that enclose what is between them.
_ENCLOSING = {
    "Op": "[]", "Bq": "[]", "Pq": "()", "Dq": "“”", "Sq": "‘’", "Ql": "‘’", "Qq": '""', "Aq": "<>",
    "Brq": "{}",
}  # fmt: skip
_OPENING = {"Oo": "[", "Bo": "[", "Po": "(", "Do": "“", "So": "‘", "Qo": '"', "Ao": "<", "Bro": "{"}
_CLOSING = {"Oc": "]", "Bc": "]", "Pc": ")", "Dc": "”", "Sc": "’", "Qc": '"', "Ac": ">", "Brc": "}"}
_SYSTEMS = {"Bx": "BSD", "Ux": "UNIX", "At": "AT&T UNIX", "Fx": "FreeBSD", "Nx": "NetBSD",
            "Ox": "OpenBSD", "Dx": "DragonFly", "Bsx": "BSD/OS"}  # fmt: skip
_PLAIN = frozenset((
    "Ad", "An", "Ar", "Cd", "Cm", "Dv", "Em", "Er", "Ev", "Fa", "Fd", "Fl", "Fn", "Ft", "Ic", "In",
    "Lb", "Li", "Lk", "Ms", "Mt", "Nm", "No", "Pa",
    "St", "Sx", "Sy", "Tn", "Va", "Vt", "Xr", "Ns", "Ap",
    "Pf", "Xo", "Xc", "Eo", "Ec", "Fo", "Fc", "Ta",
))  # fmt: skip
_INLINE = _PLAIN | _ENCLOSING.keys() | _OPENING.keys() | _CLOSING.keys() | _SYSTEMS.keys()
_AFTER = frozenset(".,:;)]?!")
_BEFORE = frozenset("([")
_OF_SYNOPSIS = frozenset(("Nm", "Fn", "Fo", "In", "Ft", "Fd", "Vt"))
_MARKERS = {"-bullet": "•", "-dash": "-", "-hyphen": "-"}
_LITERAL = frozenset(("-literal", "-unfilled"))


def show_mdoc(page: ManText, roff: Roff) -> None:
    """Show the lines of a page."""
    shown = _Mdoc(page, roff)
    for line in lines_outside_tables(page, roff):
        shown.show(line)


class _List(NamedTuple):
    """A list that is open: its kind, such as "-tag", and the numbers of its items so far."""

    kind: str
    number: int


class _Words:
    """The words of a line, with blanks between those that are not glued."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._glued = True
        self.starts_glued = False

    def add(self, text: str, *, before: bool = True, after: bool = True) -> None:
        """Add a text, without a blank before or after it if that is false."""
        if not self._parts:
            self.starts_glued = not before
        elif before and not self._glued:
            self._parts.append(" ")
        self._parts.append(text)
        self._glued = not after

    def glue(self) -> None:
        """Put no blank before the next text."""
        self.starts_glued = self.starts_glued or not self._parts
        self._glued = True

    @property
    def text(self) -> str:
        """The words so far."""
        return "".join(self._parts)

    @property
    def ends_glued(self) -> bool:
        """Whether no blank follows."""
        return self._glued


class _Mdoc:
    """What a page has said so far that later lines depend on."""

    def __init__(self, page: ManText, roff: Roff) -> None:
        self._page = page
        self._roff = roff
        self._name = ""
        self._section = ""
        self._lists: list[_List] = []
        # The words of a term that goes on over several lines.
        self._term: _Words | None = None
        self._arguments: list[str] | None = None
        self._forms: list[LineForm] = []

    def show(self, line: Line) -> None:
        """Show a line."""
        macro, page = line.macro, self._page
        if not macro:
            self._add_text(self._roff.plain(line.rest), goes_on=line.rest.endswith("\\c"))
            return
        words = split_arguments(line.rest)
        if macro in ("Sh", "Ss"):
            self._lists, self._term = [], None
            label = self._line("No", words).text
            if macro == "Sh":
                self._section = label
            page.open_heading(label, level=1 if macro == "Sh" else 2)
        elif macro in ("Pp", "Lp", "sp"):
            page.end_paragraph()
        elif macro == "br":
            page.end_line()
        elif macro == "Bl":
            self._open_list(words)
        elif macro == "El":
            self._close_list()
        elif macro == "It":
            self._open_item(words)
        elif macro == "Bd":
            self._forms.append("literal" if _LITERAL & set(words) else "filled")
            page.set_form(self._forms[-1])
        elif macro == "Ed":
            self._forms[-1:] = []
            page.set_form(self._forms[-1] if self._forms else "filled")
        elif macro in ("D1", "Dl"):
            page.end_paragraph()
            self._add_words(self._line("No", words))
            page.end_paragraph()
        elif macro == "Nd":
            page.add_line(f"— {self._line('No', words).text}")
        elif macro == "Ex":
            name = self._roff.plain(" ".join(words[1:])) or self._name
            page.add_line(f"The {name} utility exits 0 on success, and >0 if an error occurs.")
        elif macro == "Fo":
            self._arguments = []
            page.add_line(f"{self._roff.plain(' '.join(words[:1]))}(", goes_on=True)
        elif macro == "Fc" and self._arguments is not None:
            page.add_line(f"{', '.join(self._arguments)}){''.join(words)}")
            self._arguments = None
        elif macro == "Fa" and self._arguments is not None:
            self._arguments += map(self._roff.plain, words)
        elif macro.startswith("%"):
            page.add_line(f"{self._roff.plain(' '.join(words))},")
        elif macro in _INLINE:
            if self._section == "SYNOPSIS" and macro in _OF_SYNOPSIS and self._term is None:
                page.end_line()
            self._add_words(self._line(macro, words))

    def _add_text(self, text: str, *, goes_on: bool = False) -> None:
        if self._term is not None:
            self._term.add(text, after=not goes_on)
        else:
            self._page.add_line(text, goes_on=goes_on)

    def _add_words(self, words: _Words) -> None:
        if words.starts_glued and self._term is not None:
            self._term.glue()
        elif words.starts_glued:
            self._page.join()
        if words.text:
            self._add_text(words.text, goes_on=words.ends_glued)

    def _open_list(self, words: list[str]) -> None:
        if self._lists:
            self._page.indent(1)
        self._lists.append(_List(words[0] if words else "-tag", 0))

    def _close_list(self) -> None:
        self._page.end_paragraph()
        self._page.end_item()
        if self._lists:
            self._lists.pop()
        if self._lists:
            self._page.indent(-1)

    def _open_item(self, words: list[str]) -> None:
        kind, number = self._lists.pop() if self._lists else _List("-tag", 0)
        self._lists.append(_List(kind, number + 1))
        self._page.end_paragraph()
        if kind == "-column":
            self._page.end_item()
            self._page.add_line(self._line("No", words).text)
            return
        self._page.open_item()
        if kind == "-enum":
            self._page.add_marker(f"{number + 1}.")
        elif kind in _MARKERS:
            self._page.add_marker(_MARKERS[kind])
        elif kind == "-item":
            self._page.end_item()
        elif "Xo" in words and "Xc" not in words:
            self._term = self._line("No", words)
        elif words:
            self._page.add_tag(self._line("No", words).text)

    def _end_term(self) -> None:
        if self._term is not None:
            self._page.add_tag(self._term.text)
            self._term = None

    def _line(self, macro: str, arguments: list[str]) -> _Words:
        """Return the words of a macro and of those among its arguments."""
        words = _Words()
        closing: list[str] = []
        tokens = [macro, *arguments]
        last = len(tokens)
        while last > 1 and tokens[last - 1] in _AFTER:
            last -= 1
        at = 0
        while at < last:
            name = tokens[at]
            end = at + 1
            while end < last and tokens[end] not in _INLINE:
                end += 1
            self._add_macro(words, name, tokens[at + 1 : end], closing)
            at = end
        for text in reversed(closing):
            words.add(text, before=False)
        for text in tokens[last:]:
            words.add(text, before=False)
        if macro == "Xc":
            self._end_term()
        return words

    def _add_macro(
        self, words: _Words, name: str, arguments: list[str], closing: list[str]
    ) -> None:
        """Add one macro with its own words."""
        given = [self._roff.plain(each) for each in arguments]
        if name in _ENCLOSING:
            words.add(_ENCLOSING[name][0], after=False)
            closing.append(_ENCLOSING[name][1])
        elif name in _OPENING:
            words.add(_OPENING[name], after=False)
        elif name in _CLOSING:
            words.add(_CLOSING[name], before=False)
        elif name in _SYSTEMS:
            words.add(_SYSTEMS[name])
        elif name == "Ns":
            words.glue()
        elif name == "Ap":
            words.add("'", before=False, after=False)
        elif name == "Ta":
            words.add("\t", before=False, after=False)
        elif name == "Pf" and given:
            words.add(given[0], after=False)
            given = given[1:]
        elif name == "Fl":
            self._add_flags(words, given)
            return
        elif name == "Ar" and not given:
            given = ["file", "..."]
        elif name == "Nm":
            self._name = self._name or " ".join(given[:1])
            given = given if given and given[0] not in _AFTER else [self._name, *given]
        elif name == "Xr" and len(given) > 1 and given[1] not in _AFTER:
            given = [f"{given[0]}({given[1]})", *given[2:]]
        elif name == "Fn" and given:
            rest = [each for each in given[1:] if each not in _AFTER]
            given = [f"{given[0]}({', '.join(rest)})"]
        elif name == "In":
            include = "#include " if self._section == "SYNOPSIS" else ""
            given = [f"{include}<{each}>" for each in given]
        elif name == "An" and given[:1] in (["-split"], ["-nosplit"]):
            given = given[1:]
        for text in given:
            words.add(text, before=text not in _AFTER, after=text not in _BEFORE)

    def _add_flags(self, words: _Words, given: list[str]) -> None:
        """Add flags, each behind a hyphen; one without a name is glued to what follows."""
        if not given:
            words.add("-", after=False)
        for text in given:
            if text in _AFTER:
                words.add(text, before=False)
            elif text in (*_BEFORE, "|"):
                words.add(text, after=text == "|")
            else:
                words.add(f"-{text}")
