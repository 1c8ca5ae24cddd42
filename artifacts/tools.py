"""Give a product's home its command-line tools.

    python artifacts/tools.py RECIPE HOME

RECIPE is a version's directory. Its file `tools` has one line per tool: documented name, class
and the arguments it always gets. Its file `absent`, if there is one, has a line for each tool whose
jar Maven's repository lacks: documented name and the reason. HOME gets bin/, the launcher under
each of these names, or a script that says the reason, and conf/, which makes the tools log only
what goes wrong.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import zipfile
from pathlib import Path

LAUNCHER = Path(__file__).parent / "launcher"
_UNAVAILABLE = 69  # EX_UNAVAILABLE of sysexits.h


def read(table: Path) -> dict[str, str]:
    """Return tool -> class."""
    pairs = (line.split() for line in table.read_text(encoding="utf-8").splitlines())
    return {tool: name for tool, name, *_ in pairs}


def reasons(table: Path) -> dict[str, str]:
    """Return tool -> why Maven's jars do not have it, nothing without the file."""
    lines = table.read_text(encoding="utf-8").splitlines() if table.is_file() else []
    return dict(line.split(maxsplit=1) for line in lines)


def missing(tools: dict[str, str], libs: Path) -> dict[str, str]:
    """Return the tools whose class is in no jar of a directory."""
    files: set[str] = set()
    for jar in libs.glob("*.jar"):
        with zipfile.ZipFile(jar) as opened:
            files.update(opened.namelist())
    return {
        tool: name for tool, name in tools.items() if f"{name.replace('.', '/')}.class" not in files
    }


def lay_out(recipe: Path, home: Path) -> None:
    """Write bin/ and conf/ of a home that has its libs/.

    Raises:
        ValueError: a class that the table names is not in libs/, and nothing says why.

    """
    tools, explained = read(recipe / "tools"), reasons(recipe / "absent")
    absent = missing(tools, home / "libs")
    if unexplained := absent.keys() - explained.keys():
        listed = "; ".join(f"{tool} ({absent[tool]})" for tool in sorted(unexplained))
        message = (
            f"{recipe / 'tools'} names classes that are in no jar of {home / 'libs'}: {listed}"
        )
        raise ValueError(message)
    (home / "bin").mkdir()
    shutil.copy(recipe / "tools", home / "bin")
    shutil.copy(LAUNCHER, home / "bin")
    (home / "bin/launcher").chmod(0o755)
    for tool in tools:
        command = home / "bin" / tool
        if tool in absent:
            text = shlex.quote(f"{tool}: {explained[tool]}")
            command.write_text(f"#!/bin/sh\necho {text} >&2\nexit {_UNAVAILABLE}\n")
            command.chmod(0o755)
        else:
            command.symlink_to("launcher")
    shutil.copytree(recipe.parent / "conf", home / "conf")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Give a home its command-line tools.")
    parser.add_argument(
        "recipe", type=Path, help="directory of a version, artifacts/<product>/<version>"
    )
    parser.add_argument("home", type=Path, help="directory with libs/")
    options = parser.parse_args(arguments)
    try:
        lay_out(options.recipe, options.home)
    except ValueError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
