#!/usr/bin/python
"""Ansible module: fetch the last checkpoint of a NameNode."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import time
import urllib.parse
import urllib.request
from http.client import HTTPException
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.formats.properties import parse_or_empty
from ..module_utils.host import paths, rest

DOCUMENTATION = r"""
module: hdfs_image
short_description: Fetch the last checkpoint of a NameNode
description:
  - Writes the newest image that the NameNode has, its checksum and the file VERSION into a new
    directory on its host, as a NameNode's directory C(current) holds them. Whoever calls it removes
    the directory. Files that were written since that checkpoint are not in it.
attributes:
  check_mode:
    description: Does the same, since it changes nothing else.
    support: full
"""

REQUEST_SECONDS = 60
_IDENTITY = ("layoutVersion", "namespaceID", "cTime", "clusterID")


def version_of(name_dirs: list[str]) -> str:
    """Return the text of VERSION in the first directory that has it, empty without any."""
    files = [f"{path}/current/VERSION" for path in name_dirs]
    return next((paths.read_text(file) for file in files if paths.is_file(file)), "")


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "namenode": {"type": "str", "required": True},
            "name_dirs": {"type": "list", "elements": "path", "required": True},
        },
        supports_check_mode=True,
    )
    params = module.params
    text = version_of(params["name_dirs"])
    metadata = parse_or_empty(text)
    if missing := [key for key in _IDENTITY if not metadata.get(key)]:
        module.fail_json(msg=f"the NameNode's VERSION lacks {', '.join(missing)}: is it formatted?")
    # The NameNode refuses a request for another file system.
    identity = urllib.parse.quote(":".join(metadata[key] for key in _IDENTITY))
    url = f"http://{params['namenode']}/imagetransfer"
    url += f"?getimage=1&txid=latest&storageInfo={identity}"
    opener = rest.opener()
    digest = hashlib.md5(usedforsecurity=False)
    # Below the module's temporary directory, which Ansible removes; moved from it once complete.
    directory = Path(module.tmpdir) / "image"
    directory.mkdir()
    download = directory / "part"
    try:
        with opener.open(url, timeout=REQUEST_SECONDS) as response:
            disposition = response.headers["Content-Disposition"] or ""
            name = disposition.rpartition("filename=")[2]
            expected = response.headers["X-MD5-Digest"] or ""
            if not name.startswith("fsimage_") or not name[8:].isdecimal():
                module.fail_json(msg=f"{url} names no image: {disposition!r}")
            with download.open("wb") as output:
                while chunk := response.read(1 << 20):
                    digest.update(chunk)
                    with paths.naming(download):
                        output.write(chunk)
                        output.flush()
    except (OSError, HTTPException) as error:
        module.fail_json(msg=f"the image cannot be fetched from {url}: {error}")
    if digest.hexdigest() != expected:
        module.fail_json(msg=f"{name} has the MD5 {digest.hexdigest()}, expected {expected}")
    download.replace(directory / name)
    with paths.naming(directory):
        (directory / f"{name}.md5").write_text(f"{expected} *{name}\n")
        (directory / "VERSION").write_text(text)
    transaction = int(name[8:])
    written = max(
        (
            file.stat().st_mtime
            for path in params["name_dirs"]
            if (file := Path(path) / "current" / name).is_file()
        ),
        default=time.time(),
    )
    place = tempfile.mkdtemp(prefix="hdfs-image.")
    for file in directory.iterdir():
        shutil.move(str(file), place)
    module.exit_json(
        changed=False,
        directory=place,
        cluster_id=metadata["clusterID"],
        files=[name, f"{name}.md5", "VERSION"],
        transaction=transaction,
        age=round(time.time() - written),
    )


if __name__ == "__main__":
    main()
