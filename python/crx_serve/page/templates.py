"""Jinja templates of the page: values are escaped, so that no document writes markup."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

# What HTML cannot hold or a browser does not show: controls, and bytes that are not UTF-8.
_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def render(template: str, values: Mapping[str, object]) -> Markup:
    """Return a file of `templates/` filled with values; those that are no `Markup` are escaped."""
    return Markup(make_environment().get_template(template).render(values))


def escape_text(text: str) -> Markup:
    """Return a text as the templates write it."""
    return escape(_replace_invalid(text))


@functools.cache
def make_environment() -> Environment:
    """Return the environment of the templates, with `thousands` to group the digits of a number."""
    environment = Environment(
        loader=PackageLoader("crx_serve.page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_replace_invalid,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["thousands"] = "{:,}".format
    return environment


def _replace_invalid(value: object) -> object:
    if isinstance(value, str) and not isinstance(value, Markup):
        return _INVALID.sub("\ufffd", value)
    return value
