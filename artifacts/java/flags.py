"""Write the table of the -XX options that releases of Java take, as the binaries themselves say.

    python artifacts/java/flags.py plugins/plugin_utils/cluster/jvm_flags.json JAVA...

Each JAVA is a program `java`. What the table holds of releases that are not among them stays.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

_UNLOCK = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+UnlockExperimentalVMOptions")
_RELEASE = re.compile(r'version "(?:1\.)?(\d+)')
_FLAG = re.compile(r"^ *(?P<type>\S+) (?P<name>\w+) +:?=.*?\{(?P<kind>[\w ]+)\} *\{", re.MULTILINE)
_TYPES = {"bool": "boolean", "ccstr": "text", "ccstrlist": "text", "double": "double"}
_KINDS = {"diagnostic": "Diagnostic", "experimental": "Experimental"}
# Other names of options, which Java takes and does not list.
_ALIASES = ("CreateMinidumpOnCrash", "DefaultMaxRAMFraction")

Table = dict[str, dict[str, Any]]


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def release(java: str) -> int:
    """Return the feature release of a program `java`."""
    match = _RELEASE.search(_run(java, "-version").stderr)
    if not match:
        sys.exit(f"{java} shows no version of Java")
    return int(match[1])


def flags(java: str) -> Table:
    """Return name -> type, and what unlocks it, of the options that a program `java` takes."""
    table: Table = {}
    for match in _FLAG.finditer(_run(java, *_UNLOCK, "-XX:+PrintFlagsFinal", "-version").stdout):
        entry = {"type": _TYPES.get(match["type"], "number")}
        kinds = [_KINDS[kind] for kind in match["kind"].split() if kind in _KINDS]
        table[match["name"]] = {**entry, **({"unlock": kinds[0]} if kinds else {})}
    for name in _ALIASES:
        accepts_boolean = _run(java, f"-XX:+{name}", "-version").returncode == 0
        accepts_number = _run(java, f"-XX:{name}=64", "-version").returncode == 0
        if name not in table and (accepts_boolean or accepts_number):
            table[name] = {"type": "boolean" if accepts_boolean else "number"}
    return table


def merged(table: Table, number: int, options: Table) -> Table:
    """Return the table with a release's options in place of those that it held of the release."""
    result: Table = {}
    for name in sorted({*table, *options}):
        releases = {version for version in table.get(name, {}).get("java", ()) if version != number}
        releases |= {number} if name in options else set()
        if releases:
            entry = options[name] if max(releases) == number else table[name]  # of the newest
            result[name] = {**entry, "java": sorted(releases)}
    return result


def main(arguments: list[str] | None = None) -> int:
    """Write the table; returns an exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, help="JSON file to write")
    parser.add_argument("java", nargs="+", help="a program java")
    options = parser.parse_args(arguments)
    table: Table = json.loads(options.out.read_text("utf-8")) if options.out.exists() else {}
    for java in options.java:
        table = merged(table, release(java), flags(java))
    lines = (f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in table.items())
    options.out.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
