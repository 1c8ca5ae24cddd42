"""Archives of a schema registry, as Apicurio exports them."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

PLANE = {"artifactId": "planes-value", "version": "1", "contentId": 7, "state": "ENABLED"}


def archive(*entries: tuple[str, dict[str, Any]], manifest: str = "m.Manifest.json") -> bytes:
    """Return an archive of entries, each with what it is."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as made:
        made.writestr(manifest, "{}")
        for number, (kind, entry) in enumerate(entries):
            made.writestr(f"{number}.{kind}.json", json.dumps(entry))
    return content.getvalue()


def planes(*names: str) -> bytes:
    """Return the archive of a registry with a subject, and with others of one version each."""
    versions = [
        PLANE,
        *({**PLANE, "artifactId": name, "contentId": n} for n, name in enumerate(names, 8)),
    ]
    return archive(
        *(("ArtifactVersion", version) for version in versions),
        *(("Content", {"contentId": version["contentId"]}) for version in versions),
    )
