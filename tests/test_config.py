"""Settings: the order of precedence, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import crx
from crx.config import (
    ENVIRONMENT,
    ConfigWarning,
    Settings,
    read_settings,
    resolve,
    revoke,
    trust,
    untrusted_names,
    write,
)
from crx.config.settings import ARGUMENT, parse
from crx.errors import UsageError

VARIABLE = re.compile(r'"(CRX_[A-Z_]+[A-Z]|[A-Z]+_API_KEY|OLLAMA_HOST)"')


@pytest.fixture
def places(tmp_path: Path) -> tuple[dict[str, str], Path]:
    """An environment whose user file and project folder are empty."""
    (tmp_path / "project" / "below").mkdir(parents=True)
    return {"CRX_HOME": str(tmp_path / "home")}, tmp_path / "project" / "below"


def test_nothing_given_means_the_defaults(places: tuple[dict[str, str], Path]) -> None:
    environ, folder = places
    resolved = resolve(environ=environ, folder=folder)
    assert resolved.settings == Settings()
    assert set(resolved.origins.values()) == {"default"}


def test_an_argument_wins_over_a_variable_over_the_project_over_the_user(
    places: tuple[dict[str, str], Path],
) -> None:
    environ, folder = places
    user, project = Path(environ["CRX_HOME"]) / "config.toml", folder.parent / "crx.toml"
    write(user, {"k": 1, "rank.bm25.k1": 0.5, "rank.bm25.b": 0.1, "rank.fusion.rrf_k": 10.0})
    write(project, {"k": 2, "rank.bm25.k1": 0.6, "rank.bm25.b": 0.2})
    environ |= {"CRX_K": "3", "CRX_RANK_BM25_K1": "0.7"}
    resolved = resolve({"k": "4", "rank.bm25.b": None}, environ=environ, folder=folder)
    values = resolved.settings
    assert (values.k, values.rank_bm25_k1, values.rank_bm25_b, values.rank_fusion_rrf_k) == (
        4,
        0.7,
        0.2,
        10.0,
    )
    origins = [
        resolved.origins[name] for name in ("k", "rank.bm25.k1", "rank.bm25.b", "rank.fusion.rrf_k")
    ]
    assert origins == ["argument", "CRX_RANK_BM25_K1", str(project), str(user)]


def test_numbers_of_rules_are_tables_of_a_file(places: tuple[dict[str, str], Path]) -> None:
    environ, folder = places
    user = Path(environ["CRX_HOME"]) / "config.toml"
    user.parent.mkdir(exist_ok=True)
    user.write_text("k = 3\n[rank.code]\nfile = 0.5\n")
    write(user, {"rank.code.names": 0.1, "rank.rerank.ms": 20})
    values = resolve(environ=environ, folder=folder).settings
    assert (values.k, values.rank_code_file, values.rank_code_names) == (3, 0.5, 0.1)
    assert values.rank_rerank_ms == 20
    write(user, {"rank.code.file": None})
    assert resolve(environ=environ, folder=folder).settings.rank_code_file == 0.2


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("chunk_token", "3", "no such setting: chunk_token; did you mean chunk_tokens?"),
        ("rrf_k", "60", "no such setting: rrf_k; did you mean rank.fusion.rrf_k?"),
        ("k", "many", "k wants a whole number, not 'many'"),
        ("k", "0", "k must be at least 1, not 0"),
        ("k", 2.5, "k wants a whole number, not 2.5"),
        ("rank.bm25.b", "nan", "rank.bm25.b wants a number, not 'nan'"),
        ("embedder", 3, "embedder wants text, not 3"),
    ],
)
def test_a_bad_value_is_refused_by_name(
    places: tuple[dict[str, str], Path], name: str, value: object, message: str
) -> None:
    environ, folder = places
    with pytest.raises(UsageError) as caught:
        resolve({name: value}, environ=environ, folder=folder)
    assert str(caught.value) == message


def test_an_unknown_variable_is_a_warning_that_names_the_nearest(
    places: tuple[dict[str, str], Path],
) -> None:
    environ, folder = places
    misspelt = {"CRX_RANK_FUSION_RRFK": "3", "CRX_K1": "2"}
    with pytest.warns(ConfigWarning) as caught:
        resolved = resolve(environ={**environ, **misspelt}, folder=folder)
    assert [str(each.message) for each in caught] == [
        "CRX_RANK_FUSION_RRFK: no such variable, ignored; did you mean CRX_RANK_FUSION_RRF_K?",
        "CRX_K1: no such variable, ignored; did you mean CRX_RANK_BM25_K1?",
    ]
    assert resolved.settings == Settings()


def test_every_variable_that_the_sources_read_is_listed_and_accepted(
    places: tuple[dict[str, str], Path],
) -> None:
    environ, folder = places
    sources = Path(crx.__file__).parent.rglob("*.py")
    read = {name for file in sources for name in VARIABLE.findall(file.read_text("utf-8"))}
    assert read == {variable.name for variable in ENVIRONMENT}
    resolve(environ={**dict.fromkeys(read, "1"), **environ}, folder=folder)


@pytest.mark.parametrize("text", ["k = = 3", "k = " + "[" * 10_000])
def test_a_file_that_is_not_toml_is_named(text: str, places: tuple[dict[str, str], Path]) -> None:
    environ, folder = places
    (folder / "crx.toml").write_text(text)
    with pytest.raises(UsageError, match=r"crx\.toml: cannot be read as TOML"):
        resolve(environ=environ, folder=folder)


def test_a_written_value_is_read_back_and_unset(places: tuple[dict[str, str], Path]) -> None:
    environ, folder = places
    path = folder / "crx.toml"
    write(path, {"embedder": 'a "quoted" \\ name', "k": "7"}, environ=environ)
    assert resolve(environ=environ, folder=folder).settings.embedder == 'a "quoted" \\ name'
    write(path, {"embedder": None}, environ=environ)
    values = resolve(environ=environ, folder=folder).settings
    assert (values.embedder, values.k) == (Settings().embedder, 7)


def test_a_change_keeps_the_comments_and_order_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    text = (
        "# Mine.\nrank.bm25.b = 0.5  # tuned\nk = 7\n\n[prompts]\n# for lawyers\nlegal = 'l.txt'\n"
    )
    path.write_text(text)
    write(path, {"k": 8, "window_tokens": 5})
    assert path.read_text() == text.replace("k = 7\n", "k = 8\nwindow_tokens = 5\n")
    write(path, {"window_tokens": None})
    assert path.read_text() == text.replace("k = 7", "k = 8")


HOSTILE = """
generator = "openai:https://evil.example#m"
embedder = "onnx:model"
contexts = "outline"
k = 7

[prompts]
"docs" = "prompt.txt"
"""


def test_a_project_file_chooses_models_and_prompts_only_once_it_is_trusted(
    places: tuple[dict[str, str], Path],
) -> None:
    environ, folder = places
    path = folder.parent / "crx.toml"
    path.write_text(HOSTILE)
    with pytest.warns(ConfigWarning) as caught:
        resolved = resolve(environ=environ, folder=folder)
    assert [str(each.message) for each in caught] == [
        f"{path}: ignored generator, embedder, [prompts], because the file is not trusted; "
        f'read it, then run "crx trust {path}"'
    ]
    assert resolved.settings == Settings(k=7, contexts="outline")
    assert (resolved.templates, resolved.origins["generator"]) == ({}, "default")

    trust(path, environ=environ)
    resolved = resolve(environ=environ, folder=folder)
    assert resolved.settings.generator == "openai:https://evil.example#m"
    assert list(resolved.templates) == [str(folder.parent / "docs")]


def test_trust_ends_when_the_file_changes_moves_or_is_revoked(
    places: tuple[dict[str, str], Path],
) -> None:
    environ, folder = places
    path, copy = folder / "crx.toml", folder / "copy.toml"
    path.write_text(HOSTILE)
    copy.write_text(HOSTILE)

    def trusted(file: Path) -> bool:
        return not untrusted_names(read_settings(file), environ=environ)

    assert not trusted(path)
    trust(path, environ=environ)
    assert (trusted(path), trusted(copy)) == (True, False)
    path.write_text(HOSTILE + "# changed\n")
    assert not trusted(path)
    path.write_text(HOSTILE)
    assert revoke(path, environ=environ)
    assert not trusted(path)


def test_a_whole_number_that_the_core_cannot_take_is_refused() -> None:
    with pytest.raises(UsageError, match="k must be at most 2147483647, not 99999999999999999999"):
        parse("k", "9" * 20, origin=ARGUMENT)


def test_a_change_by_the_user_keeps_trust_and_gives_none_to_what_was_there(
    places: tuple[dict[str, str], Path],
) -> None:
    environ, folder = places
    path = folder / "crx.toml"
    write(path, {"embedder": "e5"}, environ=environ)
    write(path, {"k": 7}, environ=environ)
    assert untrusted_names(read_settings(path), environ=environ) == []
    path.write_text(HOSTILE)
    write(path, {"k": 8}, environ=environ)
    assert untrusted_names(read_settings(path), environ=environ) != []


def test_the_settings_of_an_installation_are_the_weakest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    share = tmp_path / "share" / "crx"
    share.mkdir(parents=True)
    (share / "config.toml").write_text('embedder = "e5-fast"\n')
    environ = {"CRX_HOME": str(tmp_path / "home")}
    resolved = resolve(environ=environ, folder=tmp_path)
    assert resolved.settings.embedder == "e5-fast"
    assert resolved.origins["embedder"] == str(share / "config.toml")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text('embedder = "hashed"\n')
    assert resolve(environ=environ, folder=tmp_path).settings.embedder == "hashed"
