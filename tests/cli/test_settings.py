"""Settings on the command line: variables, `crx config`, and trust in project files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from command_line import Crx, Done, run_process


def test_a_documented_variable_works_and_an_unknown_one_is_a_warning(indexed: Path) -> None:
    key = {"CRX_OPENAI_API_KEY": "secret", "CRX_THREADS": "1", "CRX_K": "1"}
    done = run_process("search", "krill", env=key)
    assert (done.code, done.err) == (0, "")
    done = run_process("search", "krill", "-k", 1, env={"CRX_RANK_FUSION_RRFK": "3"})
    assert done.code == 0
    assert done.err == (
        "crx: CRX_RANK_FUSION_RRFK: no such variable, ignored; did you mean "
        "CRX_RANK_FUSION_RRF_K?\n"
    )


def test_a_variable_with_a_wrong_value_is_a_usage_error(indexed: Path) -> None:
    done = run_process("search", "krill", env={"CRX_K": "many"})
    assert done == Done(2, "", "crx: CRX_K: k wants a whole number, not 'many'\n")


def test_a_project_file_sends_nothing_anywhere_until_it_is_trusted(
    crx: Crx, indexed: Path, here: Path
) -> None:
    file = here / "crx.toml"
    file.write_text('generator = "fake:say=absent"\nk = 1\n')
    below = here / "docs" / "below"
    below.mkdir()
    os.chdir(below)
    done = run_process("ask", "what do whales eat?")
    assert done.code == 2
    assert done.err.splitlines() == [
        f"crx: {file}: ignored generator, because the file is not trusted; read it, then run "
        f'"crx trust {file}"',
        "crx: no generator is named; give --with llama:PATH, ollama:NAME, claude:MODEL or "
        'openai:URL#MODEL, or "crx config set generator llama:PATH" for good',
    ]
    assert "\n2. " not in run_process("search", "krill bake").out  # k = 1 is in effect
    assert run_process("trust").out == (
        f"{file}: trusted until it changes; it sets\n  generator = fake:say=absent\n  k = 1\n"
    )
    done = run_process("ask", "what do whales eat?")
    assert done == Done(1, "This is not in these documents.\n", "")
    file.write_text(file.read_text() + "# changed\n")
    assert run_process("ask", "what do whales eat?").code == 2


@pytest.mark.skipif(sys.platform == "win32", reason="modes of Unix")
def test_a_file_that_others_can_write_to_is_trusted_only_as_it_was(crx: Crx, here: Path) -> None:
    file = here / "crx.toml"
    file.write_text('reranker = "crx"\n')
    file.chmod(0o666)
    assert crx("trust", file).code == 0
    assert crx("config").err == ""
    file.write_text('reranker = "onnx:/tmp/evil"\n')
    assert "ignored reranker, because the file is not trusted" in crx("config").err
    assert crx("trust", "--revoke").out == "crx.toml: was not trusted\n"


def test_what_the_user_sets_in_a_new_project_file_is_trusted(crx: Crx, here: Path) -> None:
    assert crx("config", "set", "generator", "fake:", "--project").code == 0
    done = crx("config")
    assert (done.err, "fake:" in done.out) == ("", True)
    assert crx("trust", "nowhere.toml") == Done(2, "", "crx: nowhere.toml: no such file\n")


def test_config_set_keeps_the_comments_of_the_user(crx: Crx) -> None:
    path = Path(os.environ["CRX_HOME"]) / "config.toml"
    path.write_text('# No weights here.\nembedder = "hashed"  # for tests\n')
    assert crx("config", "set", "k", 7).code == 0
    assert path.read_text() == '# No weights here.\nembedder = "hashed"  # for tests\nk = 7\n'
