"""Compile the examples for a Spark home with its own compiler: Maven Central has no jar of them.

    python artifacts/spark/examples.py HOME VERSION

The jar is the same bytes every time: sorted names, fixed times.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SOURCES = Path(__file__).parent / "examples"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first that a zip file can hold


def compile_sources(home: Path, classes: Path) -> None:
    """Compile with `scalac` out of a home's jars, which needs no JDK.

    Raises:
        subprocess.CalledProcessError: a source does not compile.

    """
    command = ["java", "-cp", f"{home}/jars/*", "scala.tools.nsc.Main", "-usejavacp"]
    sources = sorted(map(str, SOURCES.glob("*.scala")))
    subprocess.run([*command, "-d", str(classes), *sources], check=True)


def pack(classes: Path, jar: Path) -> None:
    """Write the classes as a jar."""
    with zipfile.ZipFile(jar, "w") as archive:  # stored: what deflate writes differs by its version
        for path in sorted(classes.rglob("*.class")):
            entry = zipfile.ZipInfo(str(path.relative_to(classes)), EPOCH)
            archive.writestr(entry, path.read_bytes())


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Compile the examples of a Spark home.")
    parser.add_argument("home", type=Path, help="directory with jars/")
    parser.add_argument("version", help="of Spark")
    options = parser.parse_args(arguments)
    jars = options.home / "examples/jars"
    jars.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        compile_sources(options.home.resolve(), Path(folder))
        pack(Path(folder), jars / f"spark-examples_2.13-{options.version}.jar")
    return 0


if __name__ == "__main__":
    sys.exit(main())
