#!/usr/bin/python
"""Ansible module: export all schemas of the schema registry, or import them with the same ids."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host.registry_rest import APICURIO, CONFLUENT, Registry
from ..module_utils.host.rest import RestError
from ..module_utils.operations import registry_archive
from ..module_utils.operations.registry_archive import ArchiveError

DOCUMENTATION = r"""
module: schema_registry_archive
short_description: Export all schemas of the schema registry, or import them with the same ids
description:
  - The archive has all subjects with their versions, ids, references and levels of compatibility.
  - It is imported into a registry that is empty, or that has only a part of the archive, with the
    same ids, as after an import that was interrupted. Any other is refused, since records name the
    schemas by their ids.
options:
  path:
    description: The archive on this host.
    type: path
  state:
    description: Whether the archive is written, or imported.
    type: str
    choices: [exported, imported]
    default: exported
attributes:
  check_mode:
    description: Compares the archive with the registry. An export writes it, too.
    support: full
"""


def versions(registry: Registry) -> dict[tuple[str, int], int]:
    """Return subject and version -> id, of a registry."""
    found = {}
    for subject in registry.call("GET", f"{CONFLUENT}/subjects"):
        path = f"{CONFLUENT}/subjects/{quote(subject, safe='')}/versions"
        for version in registry.call("GET", path):
            found[(str(subject), int(version))] = int(
                registry.call("GET", f"{path}/{version}")["id"]
            )
    return found


def exported(registry: Registry, path: Path) -> dict[str, Any]:
    """Write the archive."""
    content = registry.exchange("GET", f"{APICURIO}/admin/export", None)
    found = registry_archive.versions(content)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
    return {"changed": False, **_counts(found)}


def imported(module: AnsibleModule, registry: Registry, path: Path) -> dict[str, Any]:
    """Import the archive, and compare the registry with it."""
    content = path.read_bytes()
    archived, found = registry_archive.versions(content), versions(registry)
    if wrong := registry_archive.conflicts(archived, found):
        module.fail_json(
            msg="the registry is not empty, and nothing was changed. The following differs from "
            "the archive, and records refer to schemas by id: restore into an empty registry.\n- "
            + registry_archive.shown(wrong)
        )
    missing = registry_archive.differences(archived, found)
    if missing and not module.check_mode:
        _import(registry, content)
        if left := registry_archive.differences(archived, versions(registry)):
            module.fail_json(
                msg="after the import the registry lacks the following; run the restore again.\n- "
                + registry_archive.shown(left),
                changed=True,
            )
    return {"changed": bool(missing), **_counts(archived)}


def _import(registry: Registry, content: bytes) -> None:
    # The ids are kept by default.
    path = f"{APICURIO}/admin/import?requireEmptyRegistry=false"
    registry.exchange("POST", path, content, "application/zip")


def _counts(found: registry_archive.Versions) -> dict[str, Any]:
    return {"subjects": len({subject for subject, _ in found}), "versions": len(found)}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "instances": {"type": "list", "elements": "str", "required": True},
            "authority": {"type": "path", "default": ""},
            "login": {"type": "str", "default": "", "no_log": True},
            "path": {"type": "path"},
            "state": {"type": "str", "choices": ["exported", "imported"], "default": "exported"},
        },
        required_one_of=[["path"]],
        supports_check_mode=True,
    )
    given, path = module.params, Path(module.params["path"])
    try:
        registry = Registry(given["instances"], given["authority"], given["login"])
        if given["state"] == "exported":
            module.exit_json(**exported(registry, path))
        module.exit_json(**imported(module, registry, path))
    except OSError as error:
        module.fail_json(msg=f"a file cannot be used: {error}")
    except ArchiveError as error:
        module.fail_json(msg=f"{path} cannot be used: {error}; nothing was changed")
    except RestError as error:
        module.fail_json(msg=f"the schema registry refuses a request: {error}")
    except (LookupError, TypeError, AttributeError, json.JSONDecodeError) as error:
        module.fail_json(msg=f"what answers is no schema registry: {error!r}")


if __name__ == "__main__":
    main()
