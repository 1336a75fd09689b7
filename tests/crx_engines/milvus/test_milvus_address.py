"""URLs of Milvus and of Milvus Lite."""

from __future__ import annotations

import os

import pytest

from crx.errors import UsageError
from crx.plugins import is_engine_address, without_password
from crx_engines.milvus.milvus_address import MilvusAddress, parse_milvus_address


def test_a_server_has_a_login_a_database_and_a_collection() -> None:
    url = "milvus://ann:p%40ss@db:6000/library?collection=notes&timeout=5&secure=1"
    assert parse_milvus_address(url, environ={}) == MilvusAddress(
        host="db",
        port=6000,
        database="library",
        user="ann",
        token="ann:p@ss",
        is_secure=True,
        collection="notes",
        timeout_s=5.0,
    )
    assert parse_milvus_address(url).name == "milvus://ann@db:6000/library?collection=notes"
    assert "p%40ss" not in without_password(url)


def test_a_login_is_taken_from_the_environment() -> None:
    environ = {"MILVUS_TOKEN": "ann:secret"}
    address = parse_milvus_address("milvus://db", environ=environ)
    assert (address.host, address.port, address.token) == ("db", 19530, "ann:secret")
    assert address.name == "milvus://db:19530/"
    assert parse_milvus_address("milvus://:key@db", environ=environ).token == "key"


@pytest.mark.parametrize("place", ["/data/notes.db", "///data/notes.db"])
def test_milvus_lite_is_a_folder(place: str) -> None:
    address = parse_milvus_address(f"milvus-lite:{place}")
    assert (address.folder, address.name) == ("/data/notes.db", "milvus-lite:/data/notes.db")


def test_a_relative_folder_is_below_the_current_one() -> None:
    assert parse_milvus_address("milvus-lite:notes.db").folder == os.path.abspath("notes.db")


@pytest.mark.parametrize(
    ("url", "fact"),
    [
        ("milvus://u:secret@h:port", "not a URL of a server"),
        ("milvus:///library", "names no server"),
        ("milvus://u:secret@h?colection=x", "no such parameter: colection"),
        ("milvus://h?collection=a-b", "not a name of a collection"),
        ("milvus://h?timeout=soon", "not a number of seconds"),
        ("milvus://h?timeout=-1", "not a number of seconds"),
        ("milvus://h?timeout=nan", "not a number of seconds"),
        ("milvus://h?secure=yes", "use 1 for TLS"),
        ("milvus-lite:", "names no folder"),
        ("milvus-lite://host/notes.db", "is a folder on this machine"),
    ],
)
def test_a_url_that_is_not_valid_is_refused(url: str, fact: str) -> None:
    with pytest.raises(UsageError, match=fact) as raised:
        parse_milvus_address(url)
    assert "secret" not in str(raised.value)


def test_addresses_are_told_from_paths() -> None:
    assert is_engine_address("milvus-lite:notes.db")
    assert is_engine_address("Milvus://h")
    assert not is_engine_address("milvus/notes.crx")
