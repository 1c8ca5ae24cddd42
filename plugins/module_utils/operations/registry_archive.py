"""What an archive of the schema registry holds, and whether it may be restored.

Pure: the caller asks the registry. The archive is what Apicurio exports: a zip file with a file of
JSON for each version, content and rule, whose name ends with what it is, such as
`.ArtifactVersion.json`.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_SHOWN = 5
_RULE = "COMPATIBILITY"
MOST_BYTES = 512 * 1024 * 1024
"""How large all files of an archive may be together: a small archive can hold any number."""
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    # Encrypted, of an unknown version, or nested too deeply.
    AttributeError,
    RuntimeError,
)


class ArchiveError(Exception):
    """A file is no archive of a registry; the text says why."""


@dataclass(frozen=True)
class Held:
    """What a registry or an archive has."""

    versions: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Subject and version -> the id of the schema, by which records name it.

    It is without those that were removed.
    """
    levels: Mapping[str, str] = field(default_factory=dict)
    """Subject -> its level of compatibility, an empty name for the global one."""
    contents: frozenset[int] = frozenset()
    """The ids of all schemas, those of removed versions among them."""

    def missing(self, current: Held) -> list[str]:
        """Return what of an archive a registry does not have."""
        versions = [key for key in sorted(self.versions) if key not in current.versions]
        levels = [key for key in sorted(self.levels) if key not in current.levels]
        return [
            *(f"{subject} version {version}" for subject, version in versions),
            *(f"the level of {_named(subject)}" for subject in levels),
        ]

    def differences(self, current: Held) -> list[str]:
        """Return why an archive cannot be imported into a registry.

        An import skips what is there by its id or its name, and each version whose schema it has
        skipped (Apicurio's SqlDataImporter).
        """
        return [
            *(
                f"{subject} version {version} has the id {id_} and "
                f"{self.versions.get((subject, version), 'none')} in the archive"
                for (subject, version), id_ in sorted(current.versions.items())
                if self.versions.get((subject, version)) != id_
            ),
            *(
                f"the level of {_named(subject)} is {level} and "
                f"{self.levels.get(subject, 'not set')} in the archive"
                for subject, level in sorted(current.levels.items())
                if self.levels.get(subject) != level
            ),
            *(
                f"{subject} version {version} is not there, but a schema with its id {id_} is"
                for (subject, version), id_ in sorted(self.versions.items())
                if (subject, version) not in current.versions and id_ in current.contents
            ),
        ]


def read(content: bytes) -> Held:
    """Return what an archive has.

    Raises:
        ArchiveError: it is none, is damaged, or is larger than `MOST_BYTES`.

    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            # Files are read by their names, of which the last one of several counts.
            entries = [archive.getinfo(name) for name in names]
            if sum(entry.file_size for entry in entries) > MOST_BYTES:
                message = f"its files have more than {MOST_BYTES} bytes"
                raise ArchiveError(message)
            if any(entry.compress_type not in _COMPRESSIONS for entry in entries):
                message = "it is compressed in a way that no registry uses"
                raise ArchiveError(message)
            if damaged := archive.testzip():
                message = f"{damaged} is damaged"
                raise ArchiveError(message)
            if not any(name.endswith(".Manifest.json") for name in names):
                message = "it has no manifest"
                raise ArchiveError(message)

            def every(kind: str) -> list[dict[str, Any]]:
                files = [name for name in names if name.endswith(f".{kind}.json")]
                return [json.loads(archive.read(name)) for name in files]

            versions = {
                (str(version["artifactId"]), str(version["version"])): int(version["contentId"])
                for version in every("ArtifactVersion")
                if version.get("state") != "DISABLED"
            }
            rules = [*every("ArtifactRule"), *every("GlobalRule")]
            levels = {
                str(rule.get("artifactId") or ""): str(rule["configuration"])
                for rule in rules
                if _RULE in (rule.get("type"), rule.get("ruleType"))
            }
            contents = frozenset(int(schema["contentId"]) for schema in every("Content"))
    except _ERRORS as error:
        message = f"it is no archive of a schema registry ({error})"
        raise ArchiveError(message) from error
    return Held(versions, levels, contents)


def shown(lines: list[str]) -> str:
    """Return the first of some lines, and how many there are besides."""
    remainder = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "\n- ".join([*lines[:_SHOWN], *remainder])


def _named(subject: str) -> str:
    return subject or "all subjects"
