"""The contents of jars: the parts of Maven, with their licences, and the classes."""

import io
import re
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

_PROPERTIES = re.compile(r"META-INF/maven/[^/]+/[^/]+/pom\.properties")
_KEYS = ("groupId", "artifactId", "version")
_NAME = re.compile(r"(?P<name>.+)-(?P<version>\d+\.[\w.+-]*)\.jar")
# A class for a newer Java lies there once more.
_RELEASE = re.compile(r"META-INF/versions/\d+/")
_MOST = 2**20
"""Bytes of a text in a jar that is read: more is no pom.xml."""
_MOST_PARTS = 5000
Part = tuple[str, str, str, str]
"""Group, name, version and licence."""


def parts_of(name: str, jar: zipfile.ZipFile) -> Iterator[Part]:
    """Yield a jar and what is in it; group and licence may be empty."""
    names = []
    declared = bundle_license(jar)
    paths = [path for path in jar.namelist() if _PROPERTIES.fullmatch(path)]
    if len(paths) > _MOST_PARTS:
        message = f"it has {len(paths)} parts of Maven, at most {_MOST_PARTS} are read"
        raise zipfile.BadZipFile(message)
    for path in paths:
        lines = (line.partition("=") for line in read(jar, path).splitlines())
        properties = {key: value.strip() for key, _, value in lines if key in _KEYS}
        if len(properties) == len(_KEYS):
            stated = _license(read(jar, path.removesuffix("properties") + "xml"))
            part = (properties["groupId"], properties["artifactId"], properties["version"])
            yield (*part, stated or declared)
            names.append(properties["artifactId"])
    written = _NAME.fullmatch(name)
    if written and written["name"] not in names:
        yield "", written["name"], written["version"], declared


def _license(pom: str) -> str:
    """Return the name of the first licence of a pom.xml; empty if it has none.

    Without a pattern, which a text made for it would keep busy for hours.
    """
    licenses = pom.partition("<licenses>")[2].partition("</licenses>")[0]
    return licenses.partition("<name>")[2].partition("</name>")[0].strip()


def bundle_license(jar: zipfile.ZipFile) -> str:
    """Return what the manifest of a jar names as its licence; empty if it names none."""
    manifest = re.sub(r"\r?\n ", "", read(jar, "META-INF/MANIFEST.MF"))
    stated = re.search(r"(?m)^Bundle-License:\s*([^;\r\n]*)", manifest)
    return stated[1].strip().strip('"') if stated else ""


def read(jar: zipfile.ZipFile, path: str) -> str:
    """Return the text of a file in a jar; empty if there is none."""
    try:
        stream = jar.open(path)
    except KeyError:
        return ""
    with stream:
        return stream.read(_MOST).decode(errors="replace")


def classes_of(jar: zipfile.ZipFile) -> Iterator[str]:
    """Yield the names of the classes of a jar, as Java writes them."""
    for path in jar.namelist():
        name = _RELEASE.sub("", path)
        if name.endswith(".class") and not name.endswith("-info.class"):
            yield name.removesuffix(".class").replace("/", ".")


def in_tarball(tarball: Path) -> Iterator[tuple[str, zipfile.ZipFile]]:
    """Yield the name of each jar of a tar file, and the jar."""
    with tarfile.open(tarball) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.name.endswith(".jar") else None
            if stream:
                with zipfile.ZipFile(io.BytesIO(stream.read())) as jar:
                    yield Path(member.name).name, jar


def parts(tarball: Path) -> list[Part]:
    """Return the parts in all jars of a tar file, each once."""
    return sorted({part for name, jar in in_tarball(tarball) for part in parts_of(name, jar)})


def component(group: str, name: str, version: str, license_name: str) -> dict[str, Any]:
    """Return a part as a component of CycloneDX."""
    purl = f"pkg:maven/{group}/{name}@{version}" if group else f"pkg:generic/{name}@{version}"
    return {
        "type": "library",
        **({"group": group} if group else {}),
        "name": name,
        "version": version,
        "purl": purl,
        **({"licenses": [{"license": {"name": license_name}}]} if license_name else {}),
    }


def bom(listed: Iterable[Part]) -> dict[str, Any]:
    """Return the CycloneDX document of parts."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "components": [component(*part) for part in listed],
    }
