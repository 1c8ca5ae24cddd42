"""The page about closed networks: its commands where there is no network, and its mirrors."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Mapping
from pathlib import Path

from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.artifacts import (
    cache_directory,
)

from tests.support.clients import guide
from tests.support.faults.target import skip_unless_full
from tests.support.lab.topology import ROOT
from tests.support.recap import changed

PAGE = guide.CLOSED_NETWORK
[WRITE] = guide.commands("1. Write the bundle", PAGE)
INSTALL = guide.commands("3. Install", PAGE)
[PACKAGES] = guide.commands("4. Packages of the hosts", PAGE)
TOOLS = Path(sys.executable).parent
SECONDS = 1800


def run(place: Path, *command: str, env: Mapping[str, str]) -> str:
    """Run a command, which has to succeed; what it prints."""
    done = subprocess.run(
        command,
        check=False,
        cwd=place,
        env={"LC_ALL": "C.UTF-8", **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


def test_a_bundle_installs_where_no_index_can_be_reached(tmp_path: Path) -> None:
    """Of `vms_kafka`, with all distributions and wheels."""
    skip_unless_full()
    opened, closed = tmp_path / "open", tmp_path / "closed"
    for place in (opened, closed):
        shutil.copytree(ROOT / "inventories/vms_kafka", place / "prod")
    write = {
        **os.environ,
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "MILLRACE_CACHE": cache_directory(""),
        "PATH": f"{TOOLS}:{os.environ['PATH']}",
    }
    assert changed(run(opened, "/bin/sh", "-c", WRITE, env=write)) >= 1
    for file in opened.glob("millrace-bundle.tar*"):
        file.rename(closed / file.name)

    # A name space without a network; nothing of this machine's settings is known there.
    offline = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    bare = {
        "HOME": str(tmp_path / "home"),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHON": str(Path(sys.executable).resolve()),
        "MILLRACE_CACHE": str(tmp_path / "cache"),
    }
    script = "\n".join(["set -eu", *INSTALL, PACKAGES, "python -c 'import kafka, ansible'"])
    output = run(closed, *offline, "/bin/bash", "-c", script, env=bare)
    assert "3 controllers, 5 brokers in 3 racks" in output
    assert changed(output) == 0
    assert "openjdk-17-jre-headless\n" in output

    # What was installed writes the same bundle.
    installed = {
        **{name: text for name, text in os.environ.items() if not name.startswith("ANSIBLE_")},
        "MILLRACE_CACHE": bare["MILLRACE_CACHE"],
    }
    again = run(closed, "/bin/bash", "-c", f". .venv/bin/activate; {WRITE}", env=installed)
    assert changed(again) == 0


def test_pip_reads_the_index_of_the_page(tmp_path: Path) -> None:
    [settings] = guide.blocks("Mirrors", "ini", PAGE)
    project = tmp_path / "index/stand-in"
    project.mkdir(parents=True)
    wheel = project / "stand_in-1.0-py3-none-any.whl"
    info = "stand_in-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: stand-in\nVersion: 1.0\n"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    (project / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>')
    address = "https://mirror.example.org/python"
    assert address in settings
    (tmp_path / "pip.conf").write_text(settings.replace(address, f"{tmp_path.as_uri()}/index"))
    env = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "PIP_CONFIG_FILE": str(tmp_path / "pip.conf"),
    }
    download = [sys.executable, "-m", "pip", "download", "--no-cache-dir", "--dest=got", "stand-in"]
    run(tmp_path, *download, env=env)
    assert (tmp_path / "got" / wheel.name).is_file()


def test_maven_reads_all_from_the_mirror_of_the_page() -> None:
    [settings] = guide.blocks("Mirrors", "xml", PAGE)
    [mirror] = ET.fromstring(settings).findall("mirrors/mirror")
    assert mirror.findtext("mirrorOf") == "*"
    assert mirror.findtext("url") == "https://mirror.example.org/maven2"
