"""Values of the form fields of a PDF, text typed on its pages, stamps, and notes on them.

PDFium keeps them apart from what a page draws. Values, typed text and stamps are read where they
stand; notes, comments on marked text and the like follow the text of their page. Scripts of a form
are not run: this build of PDFium has no engine for them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium_c  # type: ignore[import-untyped]

from crx.ingest.readers.file_title import squeeze
from crx.ingest.readers.normal_text import normalize
from crx.ingest.readers.pdf_page import Field

# Annotations of one page that are looked at, and UTF-16 units of their texts that are read.
_MOST_ANNOTATIONS = 20_000
_MOST_UNITS = 400_000
_CHECKED = "☒"
_PASSWORD_FIELD = 1 << 13
_UNSEEN = pdfium_c.FPDF_ANNOT_FLAG_HIDDEN | pdfium_c.FPDF_ANNOT_FLAG_NOVIEW

_VALUES = frozenset((pdfium_c.FPDF_FORMFIELD_TEXTFIELD, pdfium_c.FPDF_FORMFIELD_COMBOBOX))
_LISTS = frozenset((pdfium_c.FPDF_FORMFIELD_LISTBOX, pdfium_c.FPDF_FORMFIELD_COMBOBOX))
_TEXTS = frozenset((pdfium_c.FPDF_PAGEOBJ_TEXT, pdfium_c.FPDF_PAGEOBJ_FORM))
_BOXES = frozenset((pdfium_c.FPDF_FORMFIELD_CHECKBOX, pdfium_c.FPDF_FORMFIELD_RADIOBUTTON))
# A link's text is on the page, that of a pop-up window is its note's.
_NOTES = frozenset((
    pdfium_c.FPDF_ANNOT_TEXT, pdfium_c.FPDF_ANNOT_LINE, pdfium_c.FPDF_ANNOT_SQUARE,
    pdfium_c.FPDF_ANNOT_CIRCLE, pdfium_c.FPDF_ANNOT_POLYGON, pdfium_c.FPDF_ANNOT_POLYLINE,
    pdfium_c.FPDF_ANNOT_HIGHLIGHT, pdfium_c.FPDF_ANNOT_UNDERLINE, pdfium_c.FPDF_ANNOT_SQUIGGLY,
    pdfium_c.FPDF_ANNOT_STRIKEOUT, pdfium_c.FPDF_ANNOT_STAMP, pdfium_c.FPDF_ANNOT_CARET,
    pdfium_c.FPDF_ANNOT_INK, pdfium_c.FPDF_ANNOT_FILEATTACHMENT,
))  # fmt: skip


class Annotations(NamedTuple):
    """What is written on a page beside its content; `stamps` are numbers of annotations."""

    fields: tuple[Field, ...] = ()
    notes: tuple[str, ...] = ()
    stamps: tuple[int, ...] = ()


@contextmanager
def open_form(pdf: Any) -> Iterator[Any]:
    """Open the form of a PDF; yield its handle, or None if there is no form."""
    if pdfium_c.FPDF_GetFormType(pdf.raw) == pdfium_c.FORMTYPE_NONE:
        yield None
        return
    callbacks = pdfium_c.FPDF_FORMFILLINFO(version=2)
    form = pdfium_c.FPDFDOC_InitFormFillEnvironment(pdf.raw, callbacks)
    try:
        yield form
    finally:
        if form:
            pdfium_c.FPDFDOC_ExitFormFillEnvironment(form)


def read_annotations(page: Any, form: Any) -> Annotations:
    """Return the values, the typed text and the notes of a page; `form` is that of its document."""
    fields: list[Field] = []
    notes: list[str] = []
    stamps: list[int] = []
    for number in range(min(pdfium_c.FPDFPage_GetAnnotCount(page.raw), _MOST_ANNOTATIONS)):
        annotation = pdfium_c.FPDFPage_GetAnnot(page.raw, number)
        if not annotation:
            continue
        try:
            kind = pdfium_c.FPDFAnnot_GetSubtype(annotation)
            if kind == pdfium_c.FPDF_ANNOT_LINK or (
                pdfium_c.FPDFAnnot_GetFlags(annotation) & _UNSEEN
            ):
                continue
            if kind == pdfium_c.FPDF_ANNOT_WIDGET:
                read = _read_value(form, annotation) if form else _read_own_value(annotation)
                fields += _as_field(annotation, read)
            elif kind == pdfium_c.FPDF_ANNOT_FREETEXT:
                fields += _as_field(annotation, _read_string(annotation, "Contents"))
            if kind == pdfium_c.FPDF_ANNOT_STAMP and _draws_text(annotation):
                stamps.append(number)
            if kind in _NOTES and (note := _read_string(annotation, "Contents").strip()):
                author = squeeze(_read_string(annotation, "T"))
                notes.append(f"{author}: {note}" if author else note)
        finally:
            pdfium_c.FPDFPage_CloseAnnot(annotation)
    return Annotations(tuple(fields), tuple(notes), tuple(stamps))


def draw_stamps(page: Any, stamps: Sequence[int]) -> None:
    """Make the stamps of a page a part of what it draws, once it is loaded again.

    The other annotations, which are read before, are removed from it; the file stays as it is.
    """
    kept = frozenset(stamps)
    for number in reversed(range(pdfium_c.FPDFPage_GetAnnotCount(page.raw))):
        if number not in kept:
            pdfium_c.FPDFPage_RemoveAnnot(page.raw, number)
    pdfium_c.FPDFPage_Flatten(page.raw, pdfium_c.FLAT_NORMALDISPLAY)


def _draws_text(annotation: Any) -> bool:
    """Return whether an appearance has a text, or a form, which may have one."""
    return any(
        pdfium_c.FPDFPageObj_GetType(pdfium_c.FPDFAnnot_GetObject(annotation, number)) in _TEXTS
        for number in range(pdfium_c.FPDFAnnot_GetObjectCount(annotation))
    )


def _as_field(annotation: Any, text: str) -> Iterator[Field]:
    rect = pdfium_c.FS_RECTF()
    if text.strip() and pdfium_c.FPDFAnnot_GetRect(annotation, rect):
        yield text, (rect.left, rect.bottom, rect.right, rect.top)


def _read_value(form: Any, annotation: Any) -> str:
    """Return what a form field shows: its value, its choice, the options of a list, or a cross."""
    kind = pdfium_c.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in _BOXES:
        # The name of the appearance that it has; `FPDFAnnot_IsChecked` says no to some that are.
        return "" if _read_string(annotation, "AS") in ("", "Off") else _CHECKED
    if kind in _LISTS:
        count = min(pdfium_c.FPDFAnnot_GetOptionCount(form, annotation), _MOST_ANNOTATIONS)
        shown = [
            _read_option(form, annotation, number)
            for number in range(count)
            if kind == pdfium_c.FPDF_FORMFIELD_LISTBOX
            or pdfium_c.FPDFAnnot_IsOptionSelected(form, annotation, number)
        ]
        if shown:  # a value of a combo box may also be typed
            return "\n".join(shown)
    if kind not in _VALUES or (
        pdfium_c.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD_FIELD
    ):
        return ""
    return _read_text(
        lambda buffer, size: pdfium_c.FPDFAnnot_GetFormFieldValue(form, annotation, buffer, size)
    )


def _read_own_value(annotation: Any) -> str:
    """Return the value of a field whose form is missing, as on pages taken out of a document."""
    flags = ctypes.c_float()
    pdfium_c.FPDFAnnot_GetNumberValue(annotation, b"Ff", flags)
    if _read_string(annotation, "FT") not in ("Tx", "Ch") or int(flags.value) & _PASSWORD_FIELD:
        return ""
    return _read_string(annotation, "V")


def _read_option(form: Any, annotation: Any, number: int) -> str:
    return _read_text(
        lambda buffer, size: pdfium_c.FPDFAnnot_GetOptionLabel(
            form, annotation, number, buffer, size
        )
    )


def _read_string(annotation: Any, key: str) -> str:
    name = key.encode() + b"\0"
    return _read_text(
        lambda buffer, size: pdfium_c.FPDFAnnot_GetStringValue(annotation, name, buffer, size)
    )


def _read_text(read: Callable[[Any, int], int]) -> str:
    """Return a text that PDFium writes into a buffer of so many bytes, as UTF-16 with a zero."""
    size = read(None, 0)
    buffer = (pdfium_c.FPDF_WCHAR * ((size + 1) // 2))()
    read(buffer, size)
    units = ctypes.string_at(buffer, min(size, 2 * _MOST_UNITS))
    return normalize(units.decode("utf-16-le", errors="replace").partition("\0")[0])
