"""The picker on the terminal: query, list, preview and keys, by prompt_toolkit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application, get_app, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.data_structures import Point
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import DynamicContainer, HSplit, Layout, VSplit, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.processors import BeforeInput

from crx._cli.links import answering_line
from crx._cli.opener import open_document
from crx._cli.passages import location
from crx._cli.visible import visible_line, visible_text
from crx._show.excerpt import split_matches
from crx._text.query_terms import marked_terms
from crx.errors import UsageError
from crx.labels import count_label
from crx.types import Passage
from crx_serve.picker.latest_search import Find, Found, LatestSearch

if TYPE_CHECKING:
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

_KEYS = "Enter edit · Ctrl-O original · Esc end"
# Columns from which on the preview is beside the list, and not below it.
_BESIDE_COLUMNS = 60
# Lines above the one that answers in the preview.
_ABOVE = 3


class Picker:
    """Passages of a query that is typed, one of which is chosen; keys open it."""

    def __init__(
        self,
        quick: Find,
        full: Find,
        *,
        query: str,
        terminal_input: Input | None = None,
        terminal_output: Output | None = None,
    ) -> None:
        self._found = Found("")
        self._chosen = 0
        self._problem = ""
        self._buffer = Buffer(multiline=False, on_text_changed=self._ask)
        self._application: Application[None] = Application(
            layout=Layout(self._windows()),
            key_bindings=self._keys(),
            full_screen=True,
            input=terminal_input,
            output=terminal_output,
        )
        # A lone Escape ends the picker; the beginning of a key's sequence arrives with its rest.
        self._application.ttimeoutlen = 0.05
        self._application.timeoutlen = 0.05
        self._search = LatestSearch(quick, full, self._show)
        self._buffer.insert_text(query)

    def run(self) -> None:
        """Show the picker until it is ended."""
        try:
            self._application.run()
        finally:
            self._search.close()

    @property
    def chosen(self) -> Passage | None:
        """The passage that the list points to."""
        passages = self._found.passages
        return passages[self._chosen] if self._chosen < len(passages) else None

    def _ask(self, buffer: Buffer) -> None:
        self._search.ask(buffer.text)

    def _show(self, found: Found) -> None:
        """Show what was found; the choice stays with the same query."""
        if found.query != self._found.query:
            self._chosen = 0
        self._found, self._problem = found, found.problem
        self._application.invalidate()

    def _windows(self) -> HSplit:
        query = BufferControl(self._buffer, input_processors=[BeforeInput("crx: ")])
        listed = FormattedTextControl(self._list, get_cursor_position=self._cursor)
        found = Window(listed, wrap_lines=False)
        preview = Window(FormattedTextControl(self._preview), wrap_lines=True)
        beside = VSplit([found, Window(width=1, char="│"), preview])
        below = HSplit([found, Window(height=1, char="─"), preview])

        def arranged() -> VSplit | HSplit:
            columns = get_app().output.get_size().columns
            return beside if columns >= _BESIDE_COLUMNS else below

        return HSplit(
            [
                Window(query, height=1),
                Window(FormattedTextControl(self._state), height=1),
                DynamicContainer(arranged),
            ]
        )

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        for key, step in (("up", -1), ("c-p", -1), ("down", 1), ("c-n", 1)):
            keys.add(key)(self._mover(step))
        keys.add("enter")(self._opener(original=False))
        keys.add("c-o")(self._opener(original=True))
        for key in ("escape", "c-c", "c-d"):
            keys.add(key)(lambda event: event.app.exit())
        return keys

    def _mover(self, step: int) -> Callable[[KeyPressEvent], None]:
        def move(event: KeyPressEvent) -> None:
            last = len(self._found.passages) - 1
            self._chosen = max(0, min(self._chosen + step, last))

        return move

    def _opener(self, *, original: bool) -> Callable[[KeyPressEvent], None]:
        def open_chosen(event: KeyPressEvent) -> None:
            # What later keys choose is not opened.
            if (chosen := self.chosen) is not None:
                run_in_terminal(lambda: self._open(chosen, original=original))

        return open_chosen

    def _open(self, passage: Passage, *, original: bool) -> None:
        try:
            open_document(passage.uri, line=answering_line(passage), original=original)
        except UsageError as error:
            self._problem = str(error)

    def _state(self) -> StyleAndTextTuples:
        if self._problem:
            return [("bold", visible_line(self._problem))]
        count = count_label(len(self._found.passages), "passage") if self._found.query else ""
        return [("italic" if self._found.is_quick else "", f"{count}  {_KEYS}".strip())]

    def _list(self) -> StyleAndTextTuples:
        return [
            ("reverse" if at == self._chosen else "", f"{location(passage)}\n")
            for at, passage in enumerate(self._found.passages)
        ]

    def _cursor(self) -> Point:
        return Point(0, self._chosen)

    def _preview(self) -> StyleAndTextTuples:
        return [] if self.chosen is None else preview(self.chosen, query=self._found.query)


def preview(passage: Passage, *, query: str) -> StyleAndTextTuples:
    """Return the text of a passage from just above the line that answers, its words marked."""
    lines = visible_text(passage.text).split("\n")
    first = passage.lines[0] if passage.lines else 1
    above = max(0, (passage.line or first) - first - _ABOVE)
    text = "\n".join(lines[above:])
    styles = {True: "bold underline", False: ""}
    terms = marked_terms(query, passage.text)
    title: StyleAndTextTuples = [("bold", f"{visible_line(passage.title)}\n\n")]
    words = [(styles[is_match], piece) for piece, is_match in split_matches(text, terms)]
    return [*(title if passage.title else ()), *words]


def run_picker(quick: Find, full: Find, *, query: str) -> None:
    """Run the picker on the terminal of this process, with a query to begin with."""
    Picker(quick, full, query=query).run()
