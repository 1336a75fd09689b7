"""Settings: the order of precedence, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import crx
from crx.config import ENVIRONMENT, Settings, resolve, write
from crx.errors import UsageError

VARIABLE = re.compile(r'"(CRX_[A-Z_]+[A-Z]|[A-Z]+_API_KEY)"')


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


def test_a_flag_wins_over_a_variable_over_the_project_over_the_user(
    places: tuple[dict[str, str], Path],
) -> None:
    environ, folder = places
    user, project = Path(environ["CRX_HOME"]) / "config.toml", folder.parent / "crx.toml"
    write(user, {"k": 1, "k1": 0.5, "b": 0.1, "rrf_k": 10.0})
    write(project, {"k": 2, "k1": 0.6, "b": 0.2})
    environ |= {"CRX_K": "3", "CRX_K1": "0.7"}
    resolved = resolve({"k": "4", "b": None}, environ=environ, folder=folder)
    values = resolved.settings
    assert (values.k, values.k1, values.b, values.rrf_k) == (4, 0.7, 0.2, 10.0)
    origins = [resolved.origins[name] for name in ("k", "k1", "b", "rrf_k")]
    assert origins == ["flag", "CRX_K1", str(project), str(user)]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("chunk_token", "3", "no such setting: chunk_token; did you mean chunk_tokens?"),
        ("k", "many", "k wants a whole number, not 'many'"),
        ("k", "0", "k must be at least 1, not 0"),
        ("k", 2.5, "k wants a whole number, not 2.5"),
        ("b", "nan", "b wants a number, not 'nan'"),
        ("embedder", 3, "embedder wants text, not 3"),
    ],
)
def test_a_bad_value_is_refused_by_name(
    places: tuple[dict[str, str], Path], name: str, value: object, message: str
) -> None:
    environ, folder = places
    with pytest.raises(UsageError, match=r"^flag: ") as caught:
        resolve({name: value}, environ=environ, folder=folder)
    assert str(caught.value) == f"flag: {message}"


def test_an_unknown_variable_is_refused(places: tuple[dict[str, str], Path]) -> None:
    environ, folder = places
    with pytest.raises(UsageError, match="CRX_KK: no such setting: kk"):
        resolve(environ={**environ, "CRX_KK": "3"}, folder=folder)


def test_every_variable_that_the_sources_read_is_listed_and_accepted(
    places: tuple[dict[str, str], Path],
) -> None:
    environ, folder = places
    sources = Path(crx.__file__).parent.rglob("*.py")
    read = {name for file in sources for name in VARIABLE.findall(file.read_text("utf-8"))}
    assert read == {variable.name for variable in ENVIRONMENT}
    resolve(environ={**dict.fromkeys(read, "1"), **environ}, folder=folder)


def test_a_file_that_is_not_toml_is_named(places: tuple[dict[str, str], Path]) -> None:
    environ, folder = places
    (folder / "crx.toml").write_text("k = = 3")
    with pytest.raises(UsageError, match=r"crx\.toml: cannot be read as TOML"):
        resolve(environ=environ, folder=folder)


def test_a_written_value_is_read_back_and_unset(places: tuple[dict[str, str], Path]) -> None:
    environ, folder = places
    path = folder / "crx.toml"
    write(path, {"embedder": 'a "quoted" \\ name', "k": "7"})
    assert resolve(environ=environ, folder=folder).settings.embedder == 'a "quoted" \\ name'
    write(path, {"embedder": None})
    values = resolve(environ=environ, folder=folder).settings
    assert (values.embedder, values.k) == (Settings().embedder, 7)
