"""Fetches what the engines need: the jars of Flink and Spark by Maven, Prism by Go, and an environment for workers.

    python -m tests.engines.fetch flink spark prism wheel

Everything goes to build/engines, or to the folder named by COVINGTON_ENGINES, and stays there. An engine that
cannot be had is an UnavailableError that says why.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from apache_beam.version import __version__ as beam_version

ROOT = Path(__file__).parents[2]
PRISM = "github.com/apache/beam/sdks/v2/go/cmd/prism"
STOCK = (f"apache-beam=={beam_version}", "pyarrow", "numpy", "Cython", "setuptools")  # in Beam's worker image
SOURCES = ("covington", "pipelines", "schemas", "models", "setup.py", "pyproject.toml", "MANIFEST.in")

# what Flink and Spark and their serialisation reach into when they run on Java 17
JAVA = (
    *("lang", "lang.invoke", "lang.reflect", "util", "util.concurrent", "util.concurrent.atomic"),
    *("net", "io", "nio", "text", "time"),
)
SUN = ("nio.ch", "nio.cs", "security.action", "util.calendar")
ADD_OPENS = (*(f"java.base/java.{name}" for name in JAVA), *(f"java.base/sun.{name}" for name in SUN))

Artifact = tuple[str, str, str]  # group, name, version
LOG: Artifact = ("org.slf4j", "slf4j-simple", "1.7.30")


class UnavailableError(Exception):
    """An engine that cannot be had on this machine, and why."""


@dataclass(frozen=True)
class Runner:
    """One of Beam's runners on Maven Central, and the engine itself where it does not bring it along."""

    artifact: str
    version: str
    engine: tuple[Artifact, ...] = ()

    @property
    def coordinates(self) -> str:
        return f"org.apache.beam:{self.artifact}:{self.version}"


# The job server of the installed Beam has all it needs in one jar. Where a mirror does not keep it, the runner it is
# made of, with its dependencies, is the same program; 2.62.0 is the newest whose parts are all to be had apart.
FLINK = (
    Runner("beam-runners-flink-1.20-job-server", beam_version),
    Runner("beam-runners-flink-1.19-job-server", beam_version),
    Runner("beam-runners-flink-1.19", "2.62.0"),
)
SPARK = (
    Runner("beam-runners-spark-3-job-server", beam_version),
    Runner(
        "beam-runners-spark-3",
        "2.62.0",
        tuple(("org.apache.spark", f"spark-{part}_2.12", "3.5.0") for part in ("core", "sql", "streaming")),
    ),
)


@dataclass(frozen=True)
class Engine:
    """A folder of jars that holds an engine and Beam's runner for it, whose job server has this main class."""

    folder: Path
    coordinates: str
    job_server: str

    @property
    def classpath(self) -> str:
        return f"{self.folder}/*"

    @property
    def job_server_jar(self) -> Path:
        """A jar for --flink_job_server_jar or --spark_job_server_jar, which names the others."""
        return self.folder.parent / "job-server.jar"


def cache() -> Path:
    """Where engines are kept."""
    return Path(os.environ.get("COVINGTON_ENGINES") or ROOT / "build" / "engines").absolute()


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Whoever comes second waits, and then finds what the first one fetched."""
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def flink() -> Engine:
    """Flink, with the first of the runners that can be had."""
    return _engine("flink", FLINK, "org.apache.beam.runners.flink.FlinkJobServerDriver")


def spark() -> Engine:
    """Spark, likewise."""
    return _engine("spark", SPARK, "org.apache.beam.runners.spark.SparkJobServerDriver")


@locked()
def _engine(engine: str, runners: Sequence[Runner], job_server: str) -> Engine:
    need("java", "mvn")
    home = cache() / f"{engine}-for-beam-{beam_version}"
    name = home / "coordinates"
    if not name.exists():
        found, complaints = None, []
        for runner in runners:
            shutil.rmtree(home / "jars", ignore_errors=True)
            complaint = _copy_jars(runner, home)
            if complaint is None:
                found = runner
                break
            complaints.append(complaint)
        if found is None:
            raise UnavailableError(f"no runner for {engine} can be had: {complaints[-1]}")
        _write_thin_jar(home / "jars", home / "job-server.jar", job_server)
        name.write_text(found.coordinates)
    return Engine(home / "jars", name.read_text(), job_server)


def _copy_jars(runner: Runner, home: Path) -> str | None:
    """Copy a runner and all it depends on to home/jars; what Maven complains of, if it does."""
    home.mkdir(parents=True, exist_ok=True)
    wanted = (("org.apache.beam", runner.artifact, runner.version), *runner.engine, LOG)
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version></dependency>"
        for group, artifact, version in wanted
    )
    (home / "pom.xml").write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>covington</groupId><artifactId>engines</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )
    command = ("mvn", "-B", "-q", "dependency:copy-dependencies", f"-DoutputDirectory={home / 'jars'}")
    done = _run((*command, "-DincludeScope=runtime"), home)
    if done.returncode == 0:
        return None
    lines = [line for line in done.stdout.splitlines() if "ERROR" in line]
    return lines[0][:300] if lines else f"mvn ended with {done.returncode}"


def _write_thin_jar(jars: Path, target: Path, main: str) -> None:
    """A jar of nothing but a manifest: the main class, the class path, and what Java 17 must open."""
    manifest = {
        "Manifest-Version": "1.0",
        "Main-Class": main,
        "Class-Path": " ".join(f"jars/{path.name}" for path in sorted(jars.glob("*.jar"))),
        "Add-Opens": " ".join(ADD_OPENS),
    }
    with zipfile.ZipFile(target, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "".join(map(_manifest_line, manifest.items())) + "\n")


def _manifest_line(entry: tuple[str, str]) -> str:
    """A manifest allows 72 bytes per line; a line that goes on begins with a blank."""
    line = f"{entry[0]}: {entry[1]}"
    return "\n ".join([line[:70], *(line[at : at + 70] for at in range(70, len(line), 70))]) + "\n"


@locked()
def prism() -> Path:
    """The program `prism` of the installed Beam's version."""
    folder = cache() / f"prism-{beam_version}"
    if not (folder / "prism").exists():
        need("go")
        folder.mkdir(parents=True, exist_ok=True)
        done = _run(("go", "install", f"{PRISM}@v{beam_version}"), folder, {"GOBIN": str(folder)})
        if done.returncode:
            raise UnavailableError(f"Prism cannot be built: {(done.stdout.splitlines() or ['?'])[-1]}")
    return folder / "prism"


@locked()
def wheel() -> Path:
    """The Python of an environment like Beam's worker image, into which pip built the source distribution."""
    folder = cache() / f"worker-{_fingerprint()}"
    python = folder / "environment" / "bin" / "python"
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _must((sys.executable, ROOT / "setup.py", "-q", "sdist", "-d", folder), ROOT)
        [sdist] = folder.glob("covington-*.tar.gz")
        _must((sys.executable, "-m", "venv", folder / "environment"), folder)
        pip = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check")
        _must((*pip, "--upgrade", *STOCK), folder)  # a new environment may bring an old setuptools
        _must((*pip, "--no-build-isolation", "--no-deps", _unpack(sdist)), folder)
        (folder / "ready").touch()
    return python


def _unpack(sdist: Path) -> Path:
    """Where pip builds it; what was compiled from the same files before is kept, for it takes minutes."""
    source = cache() / "source" / f"python-{sys.version_info.major}.{sys.version_info.minor}"
    for path in source.rglob("*"):
        if path.is_file() and path.suffix not in (".c", ".o", ".so"):
            path.unlink()
    with tarfile.open(sdist) as archive:
        for member in archive.getmembers():
            member.name = member.name.partition("/")[2] or "."
            archive.extract(member, source, filter="data")
    return source


def _fingerprint() -> str:
    """Changes with the source that goes into the wheel, and with the Python it is built for."""
    digest = hashlib.sha256(sys.version.encode())
    listed = _run(("git", "ls-files", *SOURCES), ROOT)
    for name in sorted(listed.stdout.splitlines()):
        if (ROOT / name).is_file():
            digest.update(name.encode() + b"\0" + (ROOT / name).read_bytes())
    return digest.hexdigest()[:12]


def need(*programs: str) -> None:
    """Complain of the first program that is not on this machine."""
    for program in programs:
        if shutil.which(program) is None:
            raise UnavailableError(f"{program} is not on this machine")


def _must(command: Sequence[str | Path], folder: Path) -> None:
    done = _run(command, folder)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} failed: {done.stdout[-2000:]}")


def _run(
    command: Sequence[str | Path], folder: Path, more: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment | (more or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def main(names: Sequence[str]) -> int:
    """Fetch what is named and tell of it; 3 if something cannot be had."""
    for name in names:
        try:
            found = {"flink": flink, "spark": spark, "prism": prism, "wheel": wheel}[name]()
        except UnavailableError as error:
            print(f"{name} cannot be tested here: {error}")
            return 3
        print(f"{name}: {found.coordinates if isinstance(found, Engine) else found}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
