"""Archives of the schema registry, as Apicurio exports them."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

PLANE = {"artifactId": "planes-value", "version": "1", "contentId": 7, "state": "ENABLED"}


def archive(*entries: dict[str, Any], manifest: str = "m.Manifest.json") -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as made:
        made.writestr(manifest, "{}")
        for one in entries:
            name = f"groups/{one['artifactId']}/{one['version']}.ArtifactVersion.json"
            made.writestr(name, json.dumps(one))
    return content.getvalue()
