"""The tools of a service as commands on the path of everybody who logs in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import files
from .artifacts import HOMES
from .files import Entry


def commands(
    product: str, names: Sequence[str], template: str, values: Mapping[str, str]
) -> dict[str, Entry]:
    """Return the launcher of a product's tools, and a link for each name, also without .sh.

    The template of the launcher takes the values.
    """
    launcher = f"{HOMES}/{product}-tool"
    if not names:
        return {}
    script = files.render(template, **values)
    links = dict.fromkeys(word for name in names for word in (name, name.removesuffix(".sh")))
    return {
        launcher: files.text(script, mode="0755"),
        **{f"/usr/local/bin/{name}": files.link(launcher) for name in links},
    }
