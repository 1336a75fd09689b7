"""The processor's name and instruction sets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import crx
from crx._models.processor import Processor, detect_processor

CORES = detect_processor().cores


def cpuinfo(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_an_x86_processor_is_named_with_its_instruction_sets(tmp_path: Path) -> None:
    text = (
        "processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu avx2 avx512f avx512_vnni\n\n"
        "processor\t: 1\nmodel name\t: another\nflags\t\t: fpu\n"
    )
    found = detect_processor(cpuinfo(tmp_path / "cpuinfo", text))
    assert found == Processor("AMD EPYC", CORES, ("AVX2", "AVX-512", "VNNI"))
    assert found.has_fast_int8


def test_avx2_alone_has_no_instructions_for_int8(tmp_path: Path) -> None:
    found = detect_processor(
        cpuinfo(tmp_path / "cpuinfo", "model name: Xeon E5\nflags: avx avx2\n")
    )
    assert found == Processor("Xeon E5", CORES, ("AVX2",))
    assert not found.has_fast_int8


def test_an_arm_processor_lists_its_features(tmp_path: Path) -> None:
    found = detect_processor(cpuinfo(tmp_path / "cpuinfo", "Features\t: fp asimd asimddp bf16\n"))
    assert found.instructions == ("BF16", "ASIMD", "DOTPROD")
    assert found.has_fast_int8


def test_a_system_without_the_file_gets_a_name_and_no_instruction_sets(tmp_path: Path) -> None:
    found = detect_processor(tmp_path / "missing")
    assert found.name
    assert str(found).endswith(": instruction sets unknown")


def test_the_line_needs_only_the_standard_library() -> None:
    """As `make test` prints it, before anything is installed."""
    folder = Path(crx.__file__).parent / "_models"
    program = "import processor; print(processor.detect_processor())"
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append({str(folder)!r}); "]
    command[-1] += program
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{detect_processor()}\n"
