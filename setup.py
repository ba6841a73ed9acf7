"""The compiled modules and the folder mapping; everything else is in pyproject.toml.

Cython is named nowhere here on purpose: setuptools finds it by itself, and the source
distribution can be made where it is not installed (a machine that submits a Beam job).
"""

import os
from pathlib import Path

from setuptools import Extension, setup

DEBUG = os.environ.get("COVINGTON_DEBUG") == "1"  # bounds checks, little optimisation

# floats come out the same on every processor: what is written as two operations is rounded twice; the other two only
# let the compiler use vectors, as nobody reads errno or the processor's exception flags
EXACT = ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]

DIRECTIVES = {
    "language_level": 3,
    "auto_pickle": False,
    "binding": False,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "embedsignature": True,
}


# the packages in covington/, and the folders beside it that are installed below it
PACKAGES = [".".join(path.parent.parts) for path in sorted(Path("covington").rglob("__init__.py"))]
BESIDE = ("pipelines", "schemas", "models")


def compiled(path: Path) -> Extension:
    extension = Extension(
        ".".join(path.with_suffix("").parts),
        [path.as_posix()],
        include_dirs=["."],  # headers are named from here, whichever room asks for them
        depends=[str(header) for header in sorted(Path("covington").rglob("*.h"))],
        extra_compile_args=[*EXACT, *(["-O1", "-g"] if DEBUG else ["-O3", "-g0"])],
    )
    extension.cython_directives = DIRECTIVES
    return extension


setup(
    options={"build_ext": {"parallel": os.cpu_count()}},
    packages=[*PACKAGES, *(f"covington.{folder}" for folder in BESIDE)],
    package_dir={"covington": "covington", **{f"covington.{folder}": folder for folder in BESIDE}},
    ext_modules=[compiled(path) for path in sorted(Path("covington").rglob("*.pyx"))],
)
