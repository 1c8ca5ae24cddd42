"""A bundle and its install.sh, with stand-ins for what is large: the same files, small."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils import (
    artifacts,
    bundle,
    jvm_plugins,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.artifacts import (
    Distribution,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.jvm_plugins import Plugin

from tests.support.lab.topology import ROOT
from tests.unit.cluster.small import kafka
from tests.unit.in_process import AnsibleRun
from tests.unit.module_runner import HANGS_SECONDS

GALAXY = """\
import pathlib, sys
def main():
    pathlib.Path(sys.argv[sys.argv.index("--collections-path") + 1]).mkdir(exist_ok=True)
    print("ansible-galaxy", *sys.argv[1:])
"""
"""What the stand-in of ansible-core does."""
PROGRAM = "#!/bin/sh\n{}\n"


def write_wheel(folder: Path, tag: str = "py3-none-any") -> Path:
    """Write a wheel in the place of all wheels; it has a program ansible-galaxy."""
    folder.mkdir(parents=True)
    path = folder / f"ansible_core-2.19.0-{tag}.whl"
    info = "ansible_core-2.19.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {
            "stand_in.py": GALAXY,
            f"{info}/METADATA": "Metadata-Version: 2.1\nName: ansible-core\nVersion: 2.19.0\n",
            f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
            f"{info}/entry_points.txt": "[console_scripts]\nansible-galaxy = stand_in:main\n",
            f"{info}/RECORD": "",
        }.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return path


def write_collection(folder: Path) -> None:
    """Write an installed collection that has nothing but the program."""
    text = (ROOT / "artifacts/install.sh").read_bytes()
    (folder / "artifacts").mkdir(parents=True)
    (folder / "artifacts/install.sh").write_bytes(text)
    (folder / "artifacts/install.sh").chmod(0o755)
    info = {"namespace": "millrace", "name": "streaming", "version": "0.1.0"}
    (folder / "MANIFEST.json").write_text(json.dumps({"collection_info": info}))
    files = [
        {"name": ".", "ftype": "dir"},
        {"name": "artifacts", "ftype": "dir"},
        {
            "name": "artifacts/install.sh",
            "ftype": "file",
            "chksum_sha256": hashlib.sha256(text).hexdigest(),
        },
    ]
    (folder / "FILES.json").write_text(json.dumps({"files": files}))


@dataclass(frozen=True)
class Place:
    """A machine with a network, and the directories of one without."""

    base: Path
    cluster: Cluster

    @property
    def out(self) -> Path:
        return self.base / "build/bundle.tar"

    @property
    def tarball(self) -> Path:
        [path] = (self.base / "cache/artifacts").glob("*.tar")
        return path

    @property
    def unpacked(self) -> Path:
        return self.base / bundle.TOP

    def unpack(self) -> None:
        bundle.write(self.cluster, self.out)
        subprocess.run(["tar", "-xf", self.out], cwd=self.base, check=True)
        (self.base / "closed").mkdir()

    def install(self, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.unpacked / "install.sh", self.base / "closed"],
            check=False,
            capture_output=True,
            text=True,
            timeout=HANGS_SECONDS,
            env={
                "HOME": str(self.base / "home"),
                "PATH": os.environ["PATH"],
                "PYTHON": sys.executable,
                **env,
            },
        )

    def refused(self, **env: str) -> str:
        """What install.sh says, which must be one line, and leave nothing behind."""
        before = sorted((self.base / "closed").rglob("*"))
        done = self.install(**env)
        assert done.returncode == 1
        assert not done.stdout
        assert not (self.base / "home").exists()
        assert sorted((self.base / "closed").rglob("*")) == before
        [line] = done.stderr.splitlines()
        assert line.startswith("install.sh: ")
        assert line.endswith(". Nothing was changed.")
        return line

    def program(self, name: str, text: str) -> Path:
        """Write a program in the place of another one; its path."""
        path = self.base / "programs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(PROGRAM.format(text))
        path.chmod(0o755)
        return path


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """An inventory whose only distribution is a tar file with nothing in it."""
    source = {"url": "kafka.tgz", "sha512": "0" * 128}
    distribution = Distribution("kafka", "4.4.0", str(tmp_path / "cache"), source)
    distribution.tarball.parent.mkdir(parents=True)
    with tarfile.open(distribution.tarball, "w"):
        pass
    digest = hashlib.sha256(distribution.tarball.read_bytes()).hexdigest()
    distribution.checksum_file.write_text(f"{digest}\n")
    write_collection(tmp_path / "collection")
    monkeypatch.setattr(artifacts, "wanted", lambda _: [distribution])
    monkeypatch.setattr(bundle, "build_wheels", lambda folder: [write_wheel(folder)])
    monkeypatch.setattr(bundle, "COLLECTION", tmp_path / "collection")
    return Place(tmp_path, kafka(1, 1))


def test_it_has_all_parts_and_their_sums(place: Place) -> None:
    written = bundle.write(place.cluster, place.out)
    name = place.tarball.name
    assert written.parts == sorted(written.parts)
    assert set(written.parts) == {
        "MANIFEST.json",
        "SHA256SUMS",
        f"artifacts/{name}",
        f"artifacts/{name}.sha256",
        "install.sh",
        "millrace-streaming-0.1.0.tar.gz",
        "packages/debian.txt",
        "packages/redhat.txt",
        "sbom/control-node.json",
        "sbom/kafka-4.4.0-jars.json",
        "wheels/ansible_core-2.19.0-py3-none-any.whl",
        "wheels.txt",
    }
    place.unpack()
    sums = (place.unpacked / "SHA256SUMS").read_text().splitlines()
    assert {line.split("  ")[1] for line in sums} == {*written.parts} - {"SHA256SUMS"}
    assert json.loads((place.unpacked / "MANIFEST.json").read_text()) == {
        "millrace": "0.1.0",
        "architecture": os.uname().machine,
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
    }
    assert "ansible-core==2.19.0 --hash=sha256:" in (place.unpacked / "wheels.txt").read_text()
    [component] = json.loads((place.unpacked / "sbom/control-node.json").read_text())["components"]
    assert component["purl"] == "pkg:pypi/ansible-core@2.19.0"


def test_the_same_parts_make_the_same_file(place: Place) -> None:
    assert bundle.write(place.cluster, place.out).changed
    first = place.out.read_bytes()
    os.utime(place.tarball, (1, 1))
    assert not bundle.write(place.cluster, place.out).changed
    place.out.unlink()
    assert bundle.write(place.cluster, place.out).changed
    assert place.out.read_bytes() == first
    recorded = place.out.with_name("bundle.tar.sha256").read_text()
    assert recorded == f"{hashlib.sha256(first).hexdigest()}  bundle.tar\n"
    assert sorted(path.name for path in place.out.parent.iterdir()) == [
        "bundle.tar",
        "bundle.tar.sha256",
    ]


def test_check_mode_writes_nothing(place: Place) -> None:
    assert bundle.write(place.cluster, place.out, check=True).changed
    assert not place.out.parent.exists()
    bundle.write(place.cluster, place.out)
    assert not bundle.write(place.cluster, place.out, check=True).changed


def test_a_part_that_fails_leaves_the_former_bundle(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle.write(place.cluster, place.out)
    before = place.out.read_bytes()
    monkeypatch.setattr(bundle, "build_wheels", lambda _: [Path("/nonexistent-1.whl")])
    with pytest.raises(OSError, match="nonexistent"):
        bundle.write(place.cluster, place.out)
    assert place.out.read_bytes() == before
    assert len(list(place.out.parent.iterdir())) == 2


def test_what_is_not_in_the_cache_is_named(place: Place) -> None:
    place.tarball.unlink()
    with pytest.raises(bundle.BundleError, match=r"has no kafka-4\.4\.0-0+\.tar; run artifacts"):
        bundle.cached_files(place.cluster)


def test_a_changed_collection_is_refused(place: Place) -> None:
    (place.base / "collection/artifacts/install.sh").write_text("something else\n")
    with pytest.raises(bundle.BundleError, match="install the collection again"):
        bundle.write(place.cluster, place.out)
    assert not place.out.exists()


def test_a_directory_is_no_place_for_it(place: Place) -> None:
    with pytest.raises(bundle.BundleError, match=r"name a file, such as .*/millrace-bundle\.tar"):
        bundle.write(place.cluster, place.base)


def test_a_clone_does_not_get_its_own_bundle(place: Place) -> None:
    clone = place.base / "collection"
    (clone / "galaxy.yml").touch()
    with pytest.raises(bundle.BundleError, match=f"name a path elsewhere, or {clone}/build/b.tar"):
        bundle.write(place.cluster, clone / "b.tar")
    assert bundle.write(place.cluster, clone / "build/b.tar").changed


def test_pip_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "COLLECTION", tmp_path)
    with pytest.raises(bundle.BundleError, match=r"control-node\.txt.*index of your site"):
        bundle.build_wheels(tmp_path / "wheels")


def test_a_clone_is_built(tmp_path: Path) -> None:
    path = bundle.pack_collection(tmp_path)
    with tarfile.open(path) as archive:
        members = {member.name: member for member in archive}
    assert members["playbooks/bundle.yml"].mode == 0o644
    assert members["artifacts/install.sh"].mode == 0o755
    assert {member.mtime for member in members.values()} == {0}
    assert not [name for name in members if name.startswith(".") or "__pycache__" in name]


def test_the_action_says_what_was_written(
    place: Place, local_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del local_tmp
    monkeypatch.setattr(bundle, "write", lambda *_, **__: bundle.Written(True, "ab", ["a"]))
    (place.base / "hosts.yml").write_text("kafka_brokers: {hosts: {k1: {kafka_node_id: 1}}}\n")
    result = AnsibleRun(place.base / "hosts.yml").task("bundle", "localhost", path="/b.tar")
    assert result == {"changed": True, "path": "/b.tar", "sha256": "ab", "parts": ["a"]}


def test_plugins_and_packages_of_jobs_are_in_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = str(place.base / "cache")
    plugin = Plugin("connect", "s3", cache, maven="a:b:1", recorded="0" * 64)
    packed = Distribution("python-packages", "3.11", cache, {"url": "r.txt", "sha512": "1" * 128})
    files = [plugin.tarball, plugin.checksum_file, plugin.contents_file]
    files += [packed.tarball, packed.checksum_file]
    monkeypatch.setattr(artifacts, "wanted", lambda _: [])
    monkeypatch.setattr(artifacts, "wanted_by_jobs", lambda _: [packed])
    monkeypatch.setattr(jvm_plugins, "of_cluster", lambda _: [plugin, plugin])
    for file in files:
        file.touch()
    assert sorted(bundle.cached_files(place.cluster)) == sorted(files)


# install.sh


def test_it_installs_without_an_index_and_again(place: Place) -> None:
    """Also where a former run was killed, which has left a part of each."""
    place.unpack()
    (place.base / "closed/.venv").mkdir()
    interrupted = place.base / f"home/.cache/millrace/artifacts/.{place.tarball.name}.part"
    interrupted.parent.mkdir(parents=True)
    interrupted.write_text("a part")
    for _ in range(2):
        done = place.install(PIP_INDEX_URL="http://127.0.0.1:9/", PIP_NO_INDEX="0")
        assert done.returncode == 0, done.stderr
        assert f"{bundle.TOP}/millrace-streaming-0.1.0.tar.gz" in done.stdout
        assert "--offline" in done.stdout
    cached = place.base / "home/.cache/millrace/artifacts"
    assert (cached / place.tarball.name).read_bytes() == place.tarball.read_bytes()
    names = sorted(path.name for path in cached.iterdir())
    assert names == [place.tarball.name, f"{place.tarball.name}.sha256"]
    assert not cached.stat().st_mode & 0o022
    assert not (cached / names[0]).stat().st_mode & 0o022


def test_a_part_with_another_sum_is_refused(place: Place) -> None:
    place.unpack()
    (place.unpacked / "wheels.txt").write_text("evil==1\n")
    (place.unpacked / "packages/debian.txt").unlink()
    line = place.refused()
    assert "another sum for packages/debian.txt wheels.txt: compare the sum of the bundle" in line


@pytest.mark.parametrize("text", ["", "not a sum\n"])
def test_a_bundle_without_its_sums_is_refused(place: Place, text: str) -> None:
    place.unpack()
    (place.unpacked / "SHA256SUMS").write_text(text)
    assert "copy " in place.refused()


def test_another_architecture_is_refused(place: Place) -> None:
    place.unpack()
    path = place.program("uname", "echo riscv64").parent
    line = place.refused(PATH=f"{path}:{os.environ['PATH']}")
    assert f"is for {os.uname().machine}, and this machine is riscv64: make a bundle on" in line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("echo 3.99", "is 3.99: name a Python"),
        ("exit 127", "is none: name a Python"),
        ('case "$2" in *venv*) exit 1 ;; esac; echo {version}', "on Debian python3-venv"),
    ],
)
def test_another_python_is_refused(place: Place, text: str, expected: str) -> None:
    place.unpack()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    path = place.program("python", text.replace("{version}", version))
    assert expected in place.refused(PYTHON=str(path))


def test_an_environment_of_another_python_is_refused(place: Place) -> None:
    place.unpack()
    old = place.base / "closed/.venv/bin/python"
    old.parent.mkdir(parents=True)
    old.symlink_to(place.program("old", "echo 3.8"))
    assert "closed/.venv is for another Python than 3." in place.refused()


def test_a_missing_directory_is_refused(place: Place) -> None:
    place.unpack()
    (place.base / "closed").rmdir()
    assert f"there is no directory {place.base}/closed: create it" in place.refused()


def test_wheels_of_another_system_leave_no_environment(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = "py3-none-manylinux_9_99_riscv64"
    monkeypatch.setattr(bundle, "build_wheels", lambda folder: [write_wheel(folder, other)])
    place.unpack()
    done = place.install()
    assert done.returncode == 1
    assert "make the bundle on a machine with the same release of the system" in done.stderr
    assert not list((place.base / "closed").iterdir())
    assert not (place.base / "home/.cache/millrace").exists()


def test_an_inventory_in_the_clone_is_no_part_of_the_collection(
    place: Place, tmp_path: Path
) -> None:
    collection = tmp_path / "collection"
    (collection / "site").mkdir()
    (collection / "site/hosts.yml").write_text("x: 1\n")
    files = json.loads((collection / "FILES.json").read_text())
    digest = hashlib.sha256(b"x: 1\n").hexdigest()
    files["files"].append({"name": "site/hosts.yml", "ftype": "file", "chksum_sha256": digest})
    (collection / "FILES.json").write_text(json.dumps(files))
    (tmp_path / "work").mkdir()
    with pytest.raises(bundle.BundleError, match=r"site/hosts\.yml .*move the inventory"):
        bundle.pack_collection(tmp_path / "work", [str(collection / "site")])
    assert bundle.pack_collection(tmp_path / "work", [str(tmp_path)]).is_file()
