"""Letters of LaTeX as they are printed."""

from __future__ import annotations

import pytest

from crx.ingest.read import read_bytes

LETTERS = [
    (r"Schr\"odinger", "Schrödinger"),
    (r"Schr{\"o}dinger", "Schrödinger"),
    (r"Schr\"{o}dinger", "Schrödinger"),
    (r"{\'E}cole fran\c{c}aise", "École française"),
    (r"fran\c caise", "française"),
    (r"na\"{\i}ve, na\"\i ve", "naïve, naïve"),
    (r"Erd\H{o}s, \v{S}koda, \k{a}", "Erdős, Škoda, ą"),
    (r"Stra{\ss}e, Stra\ss e, Stra\ss{}e", "Straße, Straße, Straße"),
    (r"\O ystein \AA{}s {\L}\'od\'z", "Øystein Ås Łódź"),
    (r"\label{a} \cite{b} \oint \omega \begin{document} \emph{x}", None),
    (r"\\ \' \" \= { \v \c", None),
    (r"C:\temp \url{x} \usepackage{d} \bar{x} \caption{a} \date{b}", None),
]


@pytest.mark.parametrize(("source", "printed"), LETTERS)
def test_letters_are_those_that_are_printed(source: str, printed: str | None) -> None:
    (document,) = read_bytes(source.encode(), name="a.tex")
    assert document.text == (printed or source)


def test_headings_have_their_letters_and_lines_stay() -> None:
    source = '\\section{Gr\\"o\\ss e}\n\nStra\\ss e\n'
    (document,) = read_bytes(source.encode(), name="a.tex")
    assert [mark.label for mark in document.marks] == ["Größe"]
    assert document.text.count("\n") == 3
