"""What belongs together stays in one chunk: terms and definitions, lead-ins, headers of tables."""

import numpy as np
import pytest

from crx.ingest.readers import html, markdown
from crx.ingest.readers.decode import decode
from crx.ingest.split import split
from crx.types import Document
from crx_formats import man

FILLER = "The server reads this when it starts, and tells what it has done with it. " * 2


def chunks(document: Document, budget: int) -> list[str]:
    """Return the chunks of a document, whose budget is words."""
    text = document.text
    starts = [at for at, c in enumerate(text) if c.isalnum() and not text[at - 1 : at].isalnum()]
    tokens = np.array(starts, dtype=np.uint32)
    return [chunk.text for chunk in split(document, token_starts=tokens, budget=budget)]


@pytest.mark.parametrize("budget", [40, 60, 100, 150])
def test_a_term_of_html_is_with_its_definition(budget: int) -> None:
    items = "".join(
        f"<dt>setting_{n}</dt><dt>--setting-{n}</dt><dd><p>Number {n}. {FILLER}</p></dd>"
        for n in range(60)
    )
    (page,) = html.read(f"<body><p>Text.</p><dl>{items}</dl></body>".encode(), name="a.html")
    assert "\nsetting_7\n--setting-7\n    Number 7. The server" in page.text
    for n in range(60):
        (chunk,) = (each for each in chunks(page, budget) if f"Number {n}." in each)
        assert f"setting_{n}\n--setting-{n}\n" in chunk


def test_a_definition_of_many_chunks_begins_with_its_term() -> None:
    page = f"<dl><dt>long_setting</dt><dd>{FILLER * 200}</dd><dt>next</dt><dd>{FILLER}</dd></dl>"
    (document,) = html.read(page.encode(), name="a.html")
    found = chunks(document, 50)
    assert found[0].startswith("long_setting\n    The server reads")
    assert len(found) > 100
    assert "next\n    The server" in found[-1]


def test_a_term_longer_than_the_budget_is_cut_but_not_parted_from_its_definition() -> None:
    term = " ".join(f"word{n}" for n in range(30))
    (document,) = html.read(f"<dl><dt>{term}</dt><dd>{FILLER}</dd></dl>".encode(), name="a.html")
    assert any("word29\n    The server" in chunk for chunk in chunks(document, 10))


def test_an_option_of_a_man_page_is_with_its_text() -> None:
    options = "".join(f'.TP\n.BR \\-\\-option{n} ", " \\-o{n}\n{FILLER}\n' for n in range(60))
    page = f".TH TOOL 1\n.SH NAME\ntool \\- it works\n.SH OPTIONS\n{options}"
    document = man.read_page(decode(page.encode()), name="tool.1")
    for chunk in chunks(document, 50):
        assert not chunk.rstrip().rsplit("\n", 1)[-1].startswith("--option")


@pytest.mark.parametrize(
    ("lead", "led"),
    [
        ("Settings are written as follows:", "\n\n    PRAGMA foreign_keys = ON"),
        ("The steps are as follows:", "\n\n1. Stop the server."),
        ("| Name | Port |\n|------|------|", "\n| web | 80 |"),
        ("Table 3. Ports", "\n\n| Name | Port |"),
        ("Term", "\n: Its definition."),
        ("以下を実行します：", "\n\n    pragma"),
    ],
)
def test_a_lead_in_of_markdown_is_with_what_it_leads_to(lead: str, led: str) -> None:
    for words in range(40):
        text = f"{'word ' * words}\n\n{FILLER}\n\n{lead}{led}\n\n{FILLER}\n\n{FILLER}\n"
        (document,) = markdown.read(text.encode(), name="a.md")
        assert any(lead + led in chunk for chunk in chunks(document, 45))


def test_the_header_of_a_table_of_html_is_with_its_first_row() -> None:
    rows = "".join(f"<tr><td>name{n}</td><td>{FILLER}</td></tr>" for n in range(9))
    table = f"<table><caption>Ports</caption><tr><th>Name</th><th>Use</th></tr>{rows}</table>"
    for words in range(30):
        page = f"<p>{'word ' * words}</p><p>{FILLER}</p>{table}"
        (document,) = html.read(page.encode(), name="a.html")
        assert any(
            "Ports\n\nName\tUse\nname0" in chunk or "Ports\nName\tUse\nname0" in chunk
            for chunk in chunks(document, 45)
        )


def test_fifty_thousand_terms_are_split_in_time_linear_in_their_number() -> None:
    items = "".join(f"<dt>t{n}</dt><dd>Number {n}.</dd>" for n in range(50_000))
    (document,) = html.read(f"<dl>{items}</dl>".encode(), name="a.html")
    assert all(
        not chunk.rstrip().rsplit("\n", 1)[-1].startswith("t") for chunk in chunks(document, 99)
    )
