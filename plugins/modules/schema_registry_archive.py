#!/usr/bin/python
"""Ansible module: export all schemas of the schema registry, or import them with the same ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host import paths
from ..module_utils.host.registry_rest import APICURIO, OPTIONS, Registry
from ..module_utils.host.rest import RestError
from ..module_utils.operations import registry_archive
from ..module_utils.operations.registry_archive import ArchiveError, Held

DOCUMENTATION = r"""
module: schema_registry_archive
short_description: Export all schemas of the schema registry, or import them with the same ids
description:
  - The archive has all subjects with their versions, ids, references and levels of compatibility.
  - It is imported with the same ids, since records name the schemas by their ids, into a registry
    that is empty or has a part of the archive. One that has all of it is left unchanged. A registry
    is refused if a version, an id or a level differs from the archive. It is refused if it has the
    id of a missing schema, even of a removed version, since the import would leave that schema out.
options:
  path:
    description: The archive on this host.
    type: path
    required: true
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

SECONDS = 3600
"""How long an instance may work on an import; an export comes in parts."""


def export(registry: Registry) -> tuple[bytes, Held]:
    """Return the archive of what an instance has, and what that is.

    Raises:
        RestError: no instance makes one.

    """
    path = f"{APICURIO}/admin/export"
    content = registry.first(lambda instance: registry.ask(instance, "GET", path))
    try:
        return content, registry_archive.read(content)
    except ArchiveError as error:
        message = f"what it exports cannot be used: {error}"
        raise RestError(message) from error


def exported(registry: Registry, path: Path) -> dict[str, Any]:
    """Write the archive."""
    content, held = export(registry)
    with paths.at(path) as place:
        place.write(content, 0o600)
    return {"changed": False, **_counts(held)}


def imported(module: AnsibleModule, registry: Registry, path: Path) -> dict[str, Any]:
    """Import the archive, and compare the registry with it."""
    content = paths.read_bytes(path, Registry.largest)
    archived, (_, current) = registry_archive.read(content), export(registry)
    if wrong := archived.differences(current):
        module.fail_json(
            msg="the registry differs from the archive, and nothing was changed. An import skips "
            "what the registry already has: restore into an empty registry.\n- "
            + registry_archive.shown(wrong)
        )
    missing = archived.missing(current)
    if missing and not module.check_mode:
        instance = registry.instances[0]  # the one that has answered
        try:
            # Not at another one if it fails: both would import. The ids are kept by default.
            registry.ask(
                instance,
                "POST",
                f"{APICURIO}/admin/import?requireEmptyRegistry=false",
                content,
                "application/zip",
                SECONDS,
            )
            remaining = archived.missing(export(registry)[1])
        except RestError as error:
            remaining = [f"{instance}: {error}"]
        if remaining:
            module.fail_json(
                msg="the import is not complete: see journalctl -u schema_registry at "
                f"{instance}, and restore into an empty registry.\n- "
                + registry_archive.shown(remaining),
                changed=True,
            )
    return {"changed": bool(missing), **_counts(archived)}


def _counts(held: Held) -> dict[str, Any]:
    return {"subjects": len({name for name, _ in held.versions}), "versions": len(held.versions)}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            **OPTIONS,
            "path": {"type": "path", "required": True},
            "state": {"type": "str", "choices": ["exported", "imported"], "default": "exported"},
        },
        supports_check_mode=True,
    )
    params, path = module.params, Path(module.params["path"])
    try:
        registry = Registry(params["instances"], params["authority"], params["login"])
        if params["state"] == "exported":
            module.exit_json(**exported(registry, path))
        module.exit_json(**imported(module, registry, path))
    except OSError as error:
        module.fail_json(msg=f"a file cannot be used: {error}")
    except ArchiveError as error:
        module.fail_json(msg=f"{path} cannot be used: {error}; nothing was changed")
    except RestError as error:
        module.fail_json(msg=f"the schema registry cannot be used: {error}")


if __name__ == "__main__":
    main()
