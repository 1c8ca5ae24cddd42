"""The operators that are written in Scala: compiled where the driver runs, by Spark's own compiler.

A jar in the repository could not be reviewed, and one that is built elsewhere would have to fit the
version of Spark and Scala; the compiler is among Spark's jars and takes a few seconds.
"""

import os
import subprocess
from pathlib import Path
from typing import Final

import pyspark

SOURCES: Final = Path(__file__).parent


def spark_jars() -> Path:
    """Return the directory of Spark's jars: of SPARK_HOME, or of the package pyspark."""
    if home := os.environ.get("SPARK_HOME"):
        return Path(home, "jars")
    return Path(pyspark.__file__).parent / "jars"


def compile_operators(jar: Path) -> Path:
    """Compile the Scala sources of this package and return the jar.

    Raises:
        subprocess.CalledProcessError: a source does not compile; the compiler has said why.

    """
    java = Path(os.environ["JAVA_HOME"], "bin/java") if "JAVA_HOME" in os.environ else "java"
    # A process that lives for seconds does not benefit from the C2 compiler.
    command = [str(java), "-XX:TieredStopAtLevel=1", "-cp", f"{spark_jars()}/*"]
    compiler = [*command, "scala.tools.nsc.Main", "-usejavacp"]
    sources = sorted(map(str, SOURCES.glob("*.scala")))
    subprocess.run([*compiler, "-d", str(jar), *sources], check=True)
    return jar
