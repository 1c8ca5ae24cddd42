"""A bundle: one file with all that a control node in a closed network needs.

It is a tar file. Whoever has unpacked it runs its `install.sh`, which checks everything against
SHA256SUMS first.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..module_utils.formats.values import listing
from ..module_utils.host.distribution import sha256_of
from . import artifacts, jvm_plugins, packages
from .cluster import systems
from .cluster.cluster import Cluster
from .cluster.files import COLLECTION

TOP = "millrace-bundle"
"""The directory in the tar file."""
INSTALL = "install.sh"
_REQUIREMENTS = "requirements/control-node.txt"
_MANIFEST, _FILES = "MANIFEST.json", "FILES.json"
"""What a built collection has: who it is, and its files with their sums."""
_SHOWN = 1500
"""Characters that a message has of what a failed command printed."""


class BundleError(Exception):
    """There can be no bundle; the text says why and what to do."""


@dataclass(frozen=True)
class Written:
    """A bundle that has been written, or would be."""

    changed: bool
    sha256: str
    parts: list[str]
    """The names of the files in it."""


def write(cluster: Cluster, path: Path, *, check: bool = False) -> Written:
    """Write the bundle of an inventory, the same bytes for the same parts.

    The distributions are in the cache already. Beside the bundle stands its sum, in a file as
    sha256sum writes it. With `check` nothing is written.

    Raises:
        BundleError: a part cannot be had, or the path is no place for a bundle.
        OSError: something cannot be read or written.

    """
    _refuse_path(path)
    if not check:
        path.parent.mkdir(parents=True, exist_ok=True)
    folder = path.parent if path.parent.is_dir() else None
    with tempfile.TemporaryDirectory(dir=folder, prefix=".bundle-") as work:
        parts = collect(cluster, Path(work))
        draft = Path(work, "tar")
        _write_tar(parts, draft)
        sha256 = sha256_of(draft)
        changed = not path.is_file() or sha256_of(path) != sha256
        recorded = path.with_name(f"{path.name}.sha256")
        line = f"{sha256}  {path.name}\n"
        changed = changed or not recorded.is_file() or recorded.read_text("utf-8") != line
        if changed and not check:
            draft.chmod(0o644)
            draft.replace(path)
            recorded.write_text(line, encoding="utf-8")
    return Written(changed, sha256, list(parts))


def collect(cluster: Cluster, work: Path) -> Mapping[str, Path]:
    """Return name in the bundle -> file, of all parts of a bundle; `work` is for those it makes."""
    inventory = cluster.inventory
    collection = pack_collection(work, [inventory.directory, inventory.secrets.directory])
    wheels = build_wheels(work / "wheels")
    sbom, lists = work / "sbom", work / "packages"
    jvm_plugins.write_boms(cluster, sbom)
    _write_json(sbom / "control-node.json", wheels_bom(wheels))
    lists.mkdir()
    for name, family in systems.families().items():
        (lists / f"{name}.txt").write_text(packages.render(cluster, family), encoding="utf-8")
    requirements = work / "wheels.txt"
    requirements.write_text(pins(wheels), encoding="utf-8")
    manifest = work / _MANIFEST
    _write_json(manifest, describe(collection))
    parts = {
        INSTALL: COLLECTION / "artifacts" / INSTALL,
        collection.name: collection,
        **_named(".", [manifest, requirements]),
        **_named("artifacts", cached_files(cluster)),
        **_named("packages", lists.iterdir()),
        **_named("sbom", sbom.iterdir()),
        **_named("wheels", wheels),
    }
    sums = work / "SHA256SUMS"
    lines = [f"{sha256_of(file)}  {name}\n" for name, file in sorted(parts.items())]
    sums.write_text("".join(lines), encoding="utf-8")
    return dict(sorted({**parts, sums.name: sums}.items()))


def cached_files(cluster: Cluster) -> list[Path]:
    """Return what hosts get: the files in the cache, with those by which they are verified."""
    files: list[Path] = []
    for distribution in (*artifacts.wanted(cluster), *artifacts.wanted_by_jobs(cluster)):
        files.append(distribution.tarball)
        if distribution.archive:
            files.append(distribution.checksum_file)
    for plugin in jvm_plugins.of_cluster(cluster):
        files += [plugin.tarball, plugin.checksum_file, plugin.contents_file]
    missing = [path.name for path in files if not path.is_file()]
    if missing:
        message = f"the cache has no {listing(missing)}; run artifacts.yml"
        raise BundleError(message)
    return list(dict.fromkeys(files))


def build_wheels(into: Path) -> list[Path]:
    """Return the wheels of the control node, for this Python and this architecture.

    Raises:
        BundleError: pip cannot get one, or it has another sum than the requirements record.

    """
    requirements = COLLECTION / _REQUIREMENTS
    command = ["pip", "wheel", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    done = _run([*command, f"--wheel-dir={into}", f"--requirement={requirements}"])
    if done.returncode:
        message = (
            f"pip cannot get the packages of {_REQUIREMENTS}: {_end(done)}. Set the index of your "
            "site in pip.conf, and install pip for the Python of ansible-playbook"
        )
        raise BundleError(message)
    return sorted(into.glob("*.whl"))


def pins(wheels: Iterable[Path]) -> str:
    """Return the requirements of these wheels alone, with their sums.

    Those of the collection record the sums of sources, from which some wheels were built.
    """
    return "".join(
        f"{name}=={version} --hash=sha256:{sha256_of(path)}\n"
        for path, name, version in _described(wheels)
    )


def wheels_bom(wheels: Iterable[Path]) -> dict[str, Any]:
    """Return the CycloneDX document of wheels."""
    components = [
        {
            "type": "library",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name}@{version}",
            "hashes": [{"alg": "SHA-256", "content": sha256_of(path)}],
        }
        for path, name, version in _described(wheels)
    ]
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": components}


def describe(collection: Path) -> dict[str, str]:
    """Return what a bundle is for; `install.sh` reads it line by line."""
    return {
        "millrace": collection.name.removesuffix(".tar.gz").split("-", 2)[2],
        "architecture": os.uname().machine,
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
    }


def pack_collection(work: Path, private: Iterable[str] = ()) -> Path:
    """Return this collection as a tar file, as ansible-galaxy installs it.

    A clone is built first; an installed one has the list of its files and their sums.

    Raises:
        BundleError: it cannot be built, was changed since it was installed, or would have files of
            the directories `private`.

    """
    lists = COLLECTION if (COLLECTION / _FILES).is_file() else _build(work / "built")
    names = _listed(lists / _FILES)
    _refuse_private(names, private)
    info = json.loads((lists / _MANIFEST).read_text("utf-8"))["collection_info"]
    path = work / f"{info['namespace']}-{info['name']}-{info['version']}.tar.gz"
    with (
        path.open("wb") as stream,
        gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in (_MANIFEST, _FILES):
            _add(archive, name, lists / name)
        for name in names:
            _add(archive, name, COLLECTION / name)
    return path


def _refuse_private(names: Iterable[str], directories: Iterable[str]) -> None:
    """Refuse a clone whose build would have files of the inventory or its secrets."""
    clone = COLLECTION.resolve()
    inside = [Path(text).resolve() for text in directories if text]
    inside = [path for path in inside if path.is_relative_to(clone)]
    for name in names:
        if any((clone / name).is_relative_to(path) for path in inside):
            message = (
                f"{name} of the inventory would become a part of the collection: move the "
                f"inventory and its secrets out of the clone {clone}"
            )
            raise BundleError(message)


def _build(folder: Path) -> Path:
    """Build the collection of a clone, and return a directory with the lists of its files."""
    command = ["ansible.cli.galaxy", "collection", "build", f"--output-path={folder}"]
    done = _run(command, cwd=COLLECTION)
    if done.returncode:
        message = f"the collection cannot be built: {_end(done)}"
        raise BundleError(message)
    [built] = folder.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        for name in (_MANIFEST, _FILES):
            stream = archive.extractfile(name)
            (folder / name).write_bytes(stream.read() if stream else b"")
    return folder


def _listed(files: Path) -> list[str]:
    """Return the names in a list of a collection's files; all are as they were then."""
    document = json.loads(files.read_text("utf-8"))
    entries = {entry["name"]: entry for entry in document["files"] if entry["name"] != "."}
    changed = [
        name
        for name, entry in entries.items()
        if entry["ftype"] == "file" and not _is_same(COLLECTION / name, entry["chksum_sha256"])
    ]
    if changed:
        message = (
            f"{listing(changed[:3])} of the collection in {COLLECTION} is not what was installed: "
            "install the collection again"
        )
        raise BundleError(message)
    return list(entries)


def _is_same(path: Path, sha256: str) -> bool:
    return path.is_file() and sha256_of(path) == sha256


def _refuse_path(path: Path) -> None:
    if path.is_dir():
        message = f"{path} is a directory: name a file, such as {path / (TOP + '.tar')}"
        raise BundleError(message)
    is_clone = (COLLECTION / "galaxy.yml").is_file()
    if is_clone and path.is_relative_to(COLLECTION):
        if path.relative_to(COLLECTION).parts[0] == "build":
            return
        message = (
            f"{path} lies in the clone of Millrace and would become a part of the collection: name "
            f"a path elsewhere, or {COLLECTION / 'build' / path.name}"
        )
        raise BundleError(message)


def _named(folder: str, files: Iterable[Path]) -> dict[str, Path]:
    """Return name in the bundle -> file, of files in a directory of the bundle."""
    return {str(Path(folder, file.name)): file for file in files}


def _described(wheels: Iterable[Path]) -> Iterator[tuple[Path, str, str]]:
    """Yield each wheel with the name and version of its package, which its own name has."""
    for path in sorted(wheels):
        name, version = path.name.split("-")[:2]
        yield path, name.replace("_", "-").lower(), version


def _write_json(path: Path, document: Mapping[str, Any]) -> None:
    path.write_text(f"{json.dumps(document, indent=2)}\n", encoding="utf-8")


def _write_tar(parts: Mapping[str, Path], out: Path) -> None:
    with tarfile.open(out, "w", format=tarfile.GNU_FORMAT) as archive:
        folders = {TOP, *(str(Path(TOP, name).parent) for name in parts)}
        for folder in sorted(folders):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name, file in parts.items():
            _add(archive, f"{TOP}/{name}", file)


def _add(archive: tarfile.TarFile, name: str, file: Path) -> None:
    """Add a file, link or directory, without its owner and its time."""
    entry = tarfile.TarInfo(name)
    if file.is_symlink():
        entry.type, entry.linkname = tarfile.SYMTYPE, str(file.readlink())
    elif file.is_dir():
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
    else:
        status = file.stat()
        entry.size, entry.mode = status.st_size, 0o755 if status.st_mode & 0o100 else 0o644
        with file.open("rb") as stream:
            archive.addfile(entry, stream)
        return
    archive.addfile(entry)


def _run(module: Sequence[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a module of this Python; what it makes has the same time whenever it runs."""
    return subprocess.run(
        [sys.executable, "-m", *module],
        cwd=cwd,
        env={**os.environ, "LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": "315532800"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def _end(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join(done.stdout.split())[-_SHOWN:].rstrip(".") or "it printed nothing"
