"""What an archive of the schema registry holds, and whether it may be restored.

Pure: the caller asks the registry. The archive is what Apicurio exports: a zip file with, of each
version, the file `....ArtifactVersion.json`.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping

Versions = Mapping[tuple[str, int], int]
"""Subject and version -> the id of the schema, by which records name it."""
_SHOWN = 5


class ArchiveError(Exception):
    """A file is no archive of a registry; the text says why."""


def versions(content: bytes) -> dict[tuple[str, int], int]:
    """Return the versions in an archive, without those that were removed.

    Raises:
        ArchiveError: it is none, or is damaged.

    """
    found = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if damaged := archive.testzip():
                message = f"{damaged} is damaged"
                raise ArchiveError(message)
            names = archive.namelist()
            if not any(name.endswith(".Manifest.json") for name in names):
                message = "it has no manifest"
                raise ArchiveError(message)
            for name in names:
                if name.endswith(".ArtifactVersion.json"):
                    one = json.loads(archive.read(name))
                    if one.get("state") != "DISABLED":
                        key = str(one["artifactId"]), int(one["version"])
                        found[key] = int(one["contentId"])
    except (zipfile.BadZipFile, ValueError, LookupError, TypeError, AttributeError) as error:
        message = f"it is no archive of a schema registry ({error})"
        raise ArchiveError(message) from error
    return found


def conflicts(archived: Versions, found: Versions) -> list[str]:
    """Return what of a registry is not the same in an archive.

    An empty registry has nothing, and neither has one into which the archive was restored in part.
    """
    return [
        f"{subject} version {version} has the id {id_}"
        + (f", but {archived[key]} in the archive" if key in archived else ", but is not archived")
        for key, id_ in sorted(found.items())
        if archived.get(key) != id_
        for subject, version in (key,)
    ]


def differences(archived: Versions, found: Versions) -> list[str]:
    """Return the versions of an archive that a registry lacks, or has with another id."""
    return [
        f"{subject} version {version}"
        for (subject, version), id_ in sorted(archived.items())
        if found.get((subject, version)) != id_
    ]


def shown(lines: list[str]) -> str:
    """Return the first of some lines, and how many there are besides."""
    more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "\n- ".join([*lines[:_SHOWN], *more])
