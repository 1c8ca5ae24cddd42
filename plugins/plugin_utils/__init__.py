"""The code of the control node, which may import Ansible; nothing of it reaches a host.

Python runs this file before any other of the package, and so before an import that fails on an
ansible-core or a Python that Millrace does not support.
"""

import sys
from pathlib import Path

import yaml
from ansible.errors import AnsibleError
from ansible.release import __version__ as CORE
from packaging.specifiers import SpecifierSet
from packaging.version import Version

COLLECTION = Path(__file__).resolve().parents[2]
OLDEST_PYTHON, NEWEST_PYTHON = (3, 11), (3, 14)


def supported_cores() -> str:
    """Return the range of ansible-core that the collection declares, as `>=2.19.0,<2.23.0`."""
    declared = yaml.safe_load((COLLECTION / "meta/runtime.yml").read_text(encoding="utf-8"))
    return str(declared["requires_ansible"])


def refuse_control_node(core: str, python: tuple[int, ...], supported: str) -> None:
    """Refuse a control node with an ansible-core or a Python that is too old or too new.

    Raises:
        AnsibleError: names what it has, and what to install.

    """
    # As Ansible compares them itself: a candidate of a release counts as the release.
    is_core_supported = SpecifierSet(supported).contains(Version(core).base_version)
    if is_core_supported and OLDEST_PYTHON <= python[:2] <= NEWEST_PYTHON:
        return
    oldest, newest, running = (
        ".".join(map(str, version)) for version in (OLDEST_PYTHON, NEWEST_PYTHON, python)
    )
    message = (
        f"This control node runs ansible-core {core} on Python {running}, but Millrace needs "
        f"ansible-core {supported} on Python {oldest} to {newest}, as in an environment made with "
        "requirements/control-node.txt; no host was touched"
    )
    raise AnsibleError(message)


refuse_control_node(CORE, sys.version_info[:3], supported_cores())
