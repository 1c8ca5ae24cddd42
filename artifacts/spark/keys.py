"""Write the table of a Spark version's keys, as the binary itself converts their values.

    python -m artifacts.spark.keys HOME plugins/plugin_utils/services/spark/keys/<version>.json

Spark registers most keys (`org.apache.spark.internal.config.ConfigEntry`): each converts a text to
its value, or says what it wants. Those that it reads without registering them are among the texts
of its classes; of these only the name is known. What is built of parts, such as `spark.ssl.<name>`,
is in neither (see plugins/plugin_utils/services/spark/key_table.py).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from artifacts.class_files import classes

_CONSTANT = re.compile(rb"\x01(?P<length>..)(?=(?P<name>spark\.[A-Za-z][\w.-]*))", re.DOTALL)
_KEY = re.compile(r"spark\.[A-Za-z][\w.-]*[A-Za-z0-9]")
_BUILDER, _OBJECT = b"org/apache/spark/internal/config/ConfigBuilder", b"MODULE$"
_REGISTRY = "org.apache.spark.internal.config.ConfigEntry$"
_TYPE = re.compile(r"a/an '(?P<type>[^']+)' value")
_CHOICES = re.compile(r"should be one of '(?P<names>[^']+)'")
_BOGUS = "bogus!"
_NUMBERS = ("int", "long", "double")

Entry = dict[str, str]
Convert = Callable[[str], tuple[Any, str]]


def constants(content: bytes) -> Iterator[str]:
    """Yield the texts of a class that are names of keys."""
    for match in _CONSTANT.finditer(content):
        length = int.from_bytes(match["length"], "big")
        text = content[match.start("name") :][:length].decode("utf-8", "replace")
        if _KEY.fullmatch(text):
            yield text


def leaf_names(names: Iterable[str]) -> Iterator[str]:
    """Yield the names that are not a prefix of another one; prefixes are not keys."""
    ordered = sorted(set(names))
    for name in ordered:
        if not any(longer.startswith(f"{name}.") for longer in ordered):
            yield name


def entry(convert: Convert) -> Entry:
    """Return type and valid values of a key, found by converting sample texts.

    `convert` returns the value and an empty text, or None and why there is none.
    """
    value, why = convert(_BOGUS)
    if not why:
        return {"type": "string" if isinstance(value, str) else "list"}
    if match := _CHOICES.search(why):
        return {"type": "string", "valid": _choices(match["names"], convert)}
    if not (match := _TYPE.search(why)):
        return {"type": "string"}  # Spark validates it in code of its own
    kind = match["type"].partition(" in ")[0]
    if not convert("1,1")[1]:
        return {"type": "list"}
    bounds = _bounds(convert, kind) if kind in _NUMBERS else ""
    return {"type": kind, **({"valid": bounds} if bounds else {})}


def _choices(names: str, convert: Convert) -> str:
    first = names.split(", ")[0]
    anycase = not convert(first.lower())[1] and not convert(first.upper())[1]
    return f"{'(case insensitive) ' if anycase else ''}[{names}]"


def _bounds(convert: Convert, kind: str) -> str:
    """Return the bounds of a number, as far as a few probes show them; 0 itself may be illegal."""
    legal = {text for text in ("-1", "0", "0.5", "1", "1.5") if not convert(text)[1]}
    if "1" not in legal or "-1" in legal:
        return ""
    low = "0" if legal & {"0", "0.5"} else "1"
    # A key that needs a whole number does not accept 1.5 either.
    return f"[{low},...,1]" if kind == "double" and "1.5" not in legal else f"[{low},...]"


def table(home: Path) -> dict[str, Entry]:
    """Return key -> type and legal values, of the distribution in a directory."""
    texts: set[str] = set()
    objects = []
    for name, content in classes(sorted(home.glob("jars/spark-*.jar"))):
        texts.update(constants(content))
        if name.endswith("$") and _BUILDER in content and _OBJECT in content:
            objects.append(name)
    registered = dict(_registered(home, objects))
    return {name: registered.get(name, {}) for name in {*leaf_names(texts), *registered}}


def _registered(home: Path, objects: Iterable[str]) -> Iterator[tuple[str, Entry]]:
    os.environ["SPARK_HOME"] = str(home)
    sys.path[:0] = [str(home / f"python/lib/{name}.zip") for name in ("pyspark", "py4j")]
    from py4j.protocol import Py4JJavaError
    from pyspark.java_gateway import launch_gateway

    gateway = launch_gateway()
    try:
        for_name = gateway.jvm.java.lang.Class.forName
        for name in objects:
            for_name(name)  # which registers its keys
        registry = for_name(_REGISTRY).getField("MODULE$").get(None).knownConfigs()
        for key in registry.keySet():
            converter = registry.get(key).valueConverter()

            def convert(text: str, converter: Any = converter) -> tuple[Any, str]:
                try:
                    return _plain(converter.apply(text)), ""
                except Py4JJavaError as error:
                    return None, str(error.java_exception.getMessage())

            yield str(key), entry(convert)
    finally:
        gateway.shutdown()


def _plain(value: Any) -> Any:
    """Return what an optional value holds."""
    some = hasattr(value, "getClass") and value.getClass().getName() == "scala.Some"
    return value.get() if some else value


def render(keys: dict[str, Entry]) -> str:
    """Return the table as JSON with one key a line, for a readable difference of two versions."""
    lines = [f"{json.dumps(key)}: {json.dumps(keys[key], sort_keys=True)}" for key in sorted(keys)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Write the table of Spark's keys.")
    parser.add_argument("home", type=Path, help="directory of the unpacked distribution")
    parser.add_argument("out", type=Path, help="JSON file to write")
    options = parser.parse_args(arguments)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(render(table(options.home)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
