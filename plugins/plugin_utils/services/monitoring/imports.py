"""Which modules of the collection a program needs: its own, and all that these import."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import PurePosixPath

from ...cluster.files import COLLECTION, read

NAMESPACE = "ansible_collections.millrace.streaming"


@functools.cache
def import_closure(*patterns: str) -> tuple[str, ...]:
    """Return the modules that match patterns, and all modules that these import, as paths.

    Paths and patterns begin at the collection's root. With a module come its packages, which Python
    runs first. What a function imports counts like any other import.
    """
    waiting = [
        path.relative_to(COLLECTION).as_posix()
        for pattern in patterns
        for path in COLLECTION.glob(pattern)
    ]
    closure: set[str] = set()
    while waiting:
        path = waiting.pop()
        if path not in closure:
            closure.add(path)
            packages = (f"{folder}/__init__.py" for folder in PurePosixPath(path).parents)
            waiting += [package for package in packages if (COLLECTION / package).is_file()]
            waiting += imported_modules(path)
    return tuple(sorted(closure))


@functools.cache
def imported_modules(path: str) -> tuple[str, ...]:
    """Return the paths of the collection's modules that a module imports by itself."""
    places = (
        place
        for name in imported_names(read(path), path)
        for place in (f"{name.replace('.', '/')}.py", f"{name.replace('.', '/')}/__init__.py")
    )
    return tuple(dict.fromkeys(place for place in places if (COLLECTION / place).is_file()))


def imported_names(source: str, path: str) -> Iterator[str]:
    """Yield the names that a module imports, with dots, those of the collection from its root.

    Of `from a import b` these are `a` and `a.b`, either of which may be a module. `path` is where
    the module is in the collection.
    """
    folders = PurePosixPath(path).parent.parts
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            above = folders[: len(folders) + 1 - node.level] if node.level else ()
            package = ".".join([*above, *filter(None, [node.module])])
            package = package.removeprefix(f"{NAMESPACE}.")
            yield package
            yield from (f"{package}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name.removeprefix(f"{NAMESPACE}.") for alias in node.names)
