"""Licence headers of source files are no names."""

from __future__ import annotations

import pytest

from crx._context.outline import outline, skip_licence_header
from crx.types import Chunk, Document, Mark

APACHE = """/*
 * Copyright 2024 Example Org
 *
 * Licensed under the Apache License, Version 2.0. See the License for the
 * specific language; provided "AS IS", WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND.
 */
"""
SOURCE = """class KettleBoiler {
  // Boils for Ada Lovelace and Charles Babbage.
  int boil() { return 1; }
}
"""


@pytest.mark.parametrize(
    "header",
    [
        APACHE,
        "# SPDX-License-Identifier: MIT\n# Copyright (c) Example Org\n\n",
        "// Copyright Example Org. All rights reserved.\n",
        '"""Copyright Example Org\n\nApache License, Version 2.0\n"""\n',
        "<!-- Copyright Example Org -->\n",
    ],
)
def test_a_licence_header_is_skipped(header: str) -> None:
    assert skip_licence_header(header + SOURCE) == SOURCE


@pytest.mark.parametrize(
    "text",
    [
        "// Boils water for Ada Lovelace.\n" + SOURCE,
        APACHE,
        SOURCE,
        "",
        "/* Copyright, never closed",
    ],
)
def test_other_comments_and_texts_of_a_header_alone_stay(text: str) -> None:
    assert skip_licence_header(text) == text


def test_the_outline_of_a_source_file_does_not_name_its_licence() -> None:
    text = APACHE + SOURCE
    marks = (
        Mark(
            kind="definition", start=len(APACHE), end=len(text), label="class KettleBoiler", level=1
        ),
    )
    document = Document(uri="Boiler.java", title="", text=text, marks=marks)
    (made,) = outline(
        document,
        [
            Chunk(
                ordinal=0, start=0, end=len(text), token_start=0, token_end=9, section=1, text=text
            )
        ],
    )
    assert "Apache" not in made
    assert "Example Org" not in made
    assert "Ada Lovelace" in made
