"""The kernels in C, one by one: the same numbers from every instruction set, compiler and level of optimisation.

The digests stand for all processors: on another one, or under an emulator, compile kernel_digests.c and compare:

    cc -O3 -ffp-contract=off -Icovington/network/kernels tests/network/kernel_digests.c -lm -o digests && ./digests
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

FLOAT, INTEGER = "92c337a35c2a0b93", "ff2513677e3eac07"
HERE = Path(__file__).parent
KERNELS = HERE.parent.parent / "covington" / "network" / "kernels"
COMPILER = shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0]) or shutil.which("cc")


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
@pytest.mark.parametrize("level", ["-O1", "-O3"])
def test_digests(tmp_path: Path, level: str) -> None:
    program = tmp_path / "digests"
    flags = [level, "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", f"-I{KERNELS}"]
    source = HERE / "kernel_digests.c"
    subprocess.run([str(COMPILER), *flags, str(source), "-lm", "-o", str(program)], check=True)
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
    found = [line.split() for line in lines]
    assert {kind for kind, *_ in found} == {"float", "integer"}
    for kind, name, digest in found:
        assert digest == {"float": FLOAT, "integer": INTEGER}[kind], name
