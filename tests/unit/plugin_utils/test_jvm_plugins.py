"""Plugins of an inventory on the control node: packed once, and refused by what is in them."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import socket
import stat
import subprocess
import tarfile
import threading
import time
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.client import HTTPMessage
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.module_utils.host.distribution import sha256_of
from ansible_collections.millrace.streaming.plugins.plugin_utils import (
    artifacts,
    jar_sources,
    jars,
    jvm_plugins,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.jvm_plugins import Plugin
from ansible_collections.millrace.streaming.plugins.plugin_utils.jar_sources import SourceError

from tests.unit.cluster.small import cluster

CONNECTOR = "org.example.TimerSourceConnector"
BAD = ("org.xerial.snappy", "snappy-java", "1.1.10.4")
GROUPS = {"kafka_brokers": ["k1"], "kafka_controllers": ["k1"], "kafka_connect": ["k1", "k2"]}


def jar(*classes: str, part: tuple[str, str, str] | None = None) -> bytes:
    """Return a jar with classes, and perhaps the coordinates that Maven leaves in one."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in classes or (CONNECTOR,):
            archive.writestr(zipfile.ZipInfo(f"{name.replace('.', '/')}.class"), "a class")
        if part:
            group, name, version = part
            text = f"groupId={group}\nartifactId={name}\nversion={version}\n"
            path = f"META-INF/maven/{group}/{name}/pom.properties"
            archive.writestr(zipfile.ZipInfo(path), text)
    return content.getvalue()


def write_zip(path: Path, members: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return path


def sum_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def entry(path: Path, name: str = "timer", **more: Any) -> dict[str, Any]:
    return {"name": name, "file": str(path), "sha256": sum_of(path), **more}


def plugin(path: Path, cache: Path, **more: Any) -> Plugin:
    return Plugin("connect", "timer", str(cache), file=str(path), recorded=sum_of(path), **more)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    members = {"timer-1/lib/timer.jar": jar(), "timer-1/doc/README.md": b"text"}
    return write_zip(tmp_path / "timer.zip", members)


def members_of(packed: Plugin) -> list[str]:
    with tarfile.open(packed.tarball) as tarball:
        return tarball.getnames()


def test_the_jars_of_an_archive_are_packed_the_same_each_time(
    archive: Path, tmp_path: Path
) -> None:
    first, second = (plugin(archive, tmp_path / name) for name in ("one", "two"))
    for packed in (first, second):
        jvm_plugins.pack(packed)
    assert members_of(first) == ["timer", "timer/timer.jar"]
    assert first.sha256 == second.sha256 == sum_of(second.tarball)
    assert first.home.startswith("/opt/millrace/connect-plugins/timer-")
    assert stat.S_IMODE(first.tarball.stat().st_mode) == 0o644
    files = {first.tarball, first.checksum_file, first.contents_file}
    assert {*first.tarball.parent.iterdir()} == files, "and nothing is left beside them"
    assert jvm_plugins.read_contents(first).names == {CONNECTOR}


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".tgz", ".tar.xz", ".jar"])
def test_each_kind_of_file_is_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"timer{suffix}"
    if suffix == ".jar":
        path.write_bytes(jar())
    else:
        (tmp_path / "timer.jar").write_bytes(jar())
        kind = {".tar": "w", ".tar.xz": "w:xz"}.get(suffix, "w:gz")
        with tarfile.open(path, kind) as tarball:  # type: ignore[call-overload]  # a mode by name
            tarball.add(tmp_path / "timer.jar", "deep/timer.jar")
    packed = plugin(path, tmp_path / "cache")
    jvm_plugins.pack(packed)
    assert members_of(packed)[1:] == ["timer/timer.jar"]


def test_what_is_excluded_is_left_out_and_is_another_directory(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {"a.jar": jar(), "ojdbc-11.jar": jar("o.Driver")})
    whole, smaller = plugin(path, tmp_path), plugin(path, tmp_path, exclude=("ojdbc*.jar",))
    for packed in (whole, smaller):
        jvm_plugins.pack(packed)
    assert members_of(smaller) == ["timer", "timer/a.jar"]
    assert whole.home != smaller.home
    with pytest.raises(SourceError, match=r"b\.jar.*a\.jar, ojdbc-11\.jar"):
        jvm_plugins.pack(plugin(path, tmp_path, exclude=("b.jar",)))


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"../timer.jar": jar()}, "outside"),
        ({"a/../../timer.jar": jar()}, "outside"),
        ({"/etc/timer.jar": jar()}, "outside"),
        ({"..\\timer.jar": jar()}, "outside"),
        ({"C:/timer.jar": jar()}, "outside"),
        ({"readme": b"x"}, "no jar"),
        ({"timer.jar": b"not a zip"}, "is no jar"),
        ({"a/timer.jar": jar(), "b/timer.jar": jar("o.Other")}, "two different"),
    ],
)
def test_a_wrong_archive_is_refused(members: dict[str, bytes], text: str, tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", members)
    packed = plugin(path, tmp_path / "cache")
    with pytest.raises(SourceError, match=text):
        jvm_plugins.pack(packed)
    assert not list(packed.tarball.parent.iterdir()), "nothing is left of it"
    assert sorted(tmp_path.iterdir()) == [path, tmp_path / "cache"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE])
def test_a_link_or_a_device_in_a_tar_file_is_refused(kind: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.tgz"
    with tarfile.open(path, "w:gz") as tarball:
        member = tarfile.TarInfo("timer.jar")
        member.type, member.linkname = kind, "/etc/passwd"
        tarball.addfile(member)
    with pytest.raises(SourceError, match=r"timer\.jar.*link or a device"):
        jvm_plugins.pack(plugin(path, tmp_path / "cache"))


def test_a_link_in_a_zip_file_is_refused(tmp_path: Path) -> None:
    member = zipfile.ZipInfo("timer.jar")
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(member, "/etc/passwd")
    with pytest.raises(SourceError, match="link or a device"):
        jvm_plugins.pack(plugin(tmp_path / "a.zip", tmp_path / "cache"))


@pytest.mark.parametrize("name", ["a.zip", "a.tgz"])
def test_an_archive_that_unpacks_to_too_much_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jar_sources, "MOST_BYTES", 2**20)
    path = tmp_path / name
    (tmp_path / "zeros.jar").write_bytes(bytes(2**21))
    if name == "a.zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(tmp_path / "zeros.jar")
    else:
        with tarfile.open(path, "w:gz") as tarball:
            tarball.add(tmp_path / "zeros.jar")
    assert path.stat().st_size < 10_000
    with pytest.raises(SourceError, match="at most"):
        jvm_plugins.pack(plugin(path, tmp_path / "cache"))


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    for name in ("a.zip", "a.tar.gz"):
        (tmp_path / name).write_bytes(b"damaged")
        with pytest.raises(SourceError, match=f"{name} cannot be read"):
            jvm_plugins.pack(plugin(tmp_path / name, tmp_path / "cache"))


def damaged_zip(content: bytes, name: str) -> bytes:
    """Return a zip file whose only member cannot be decompressed."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    whole = bytearray(packed.getvalue())
    begin = 30 + len(name) + 2
    whole[begin : begin + 15] = b"\xff" * 15
    return bytes(whole)


def test_what_cannot_be_decompressed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(damaged_zip(jar() * 50, "timer.jar"))
    with pytest.raises(SourceError, match=r"a\.zip cannot be read"):
        jvm_plugins.pack(plugin(path, tmp_path / "cache"))
    path = tmp_path / "timer.jar"
    path.write_bytes(damaged_zip(b"Name: text\n" * 500, "META-INF/MANIFEST.MF"))
    with pytest.raises(SourceError, match=r"timer\.jar cannot be read"):
        jvm_plugins.pack(plugin(path, tmp_path / "cache"))


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_that_fills_the_memory_is_refused(kind: bytes, tmp_path: Path) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = kind, 2**22
    path = tmp_path / "a.tar.gz"
    with gzip.open(path, "wb") as stream:
        stream.write(header.tobuf(tarfile.GNU_FORMAT) + bytes(header.size))
    with pytest.raises(SourceError, match=f"a header of {header.size} bytes"):
        jvm_plugins.pack(plugin(path, tmp_path / "cache"))


@pytest.mark.parametrize("pax", [True, False])
def test_a_tar_file_does_not_lead_back(tmp_path: Path, *, pax: bool) -> None:
    path = tmp_path / "a.tar"
    if pax:
        member = tarfile.TarInfo("x")
        member.pax_headers = {"size": "-1024"}
        head = member.tobuf(tarfile.PAX_FORMAT)
    else:
        header = bytearray(tarfile.TarInfo("x").tobuf(tarfile.GNU_FORMAT))
        header[124:136] = (-1024).to_bytes(12, "big", signed=True)
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header[:512])
        head = bytes(header)
    path.write_bytes(head + bytes(10240))
    with pytest.raises(SourceError, match="-1024 bytes"):
        jvm_plugins.pack(plugin(path, tmp_path / "cache"))


@pytest.mark.parametrize(
    "name", ["a,b.jar", "lib/a:b.jar", "a\nb.jar", ".a.jar", "-a.jar", "*.jar"]
)
def test_a_jar_has_a_name_that_class_paths_can_have(name: str, tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {name: jar()})
    with pytest.raises(SourceError, match="is no name for a jar"):
        jvm_plugins.pack(plugin(path, tmp_path / "cache"))


def test_what_is_packed_is_what_was_compared(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = plugin(archive, tmp_path / "cache")
    compared = sha256_of

    def compare(path: Path) -> str:
        found = compared(path)
        write_zip(archive, {"other.jar": jar("o.Other")})
        return found

    monkeypatch.setattr(jar_sources, "sha256_of", compare)
    jvm_plugins.pack(packed)
    assert members_of(packed) == ["timer", "timer/timer.jar"]


@pytest.mark.parametrize(
    "texts",
    [
        {"pom.properties": "version=" + " " * 30_000 + "x"},
        {"pom.xml": "<licenses><license><name>" + " " * 30_000},
        {"pom.xml": "<licenses>" * 30_000},
    ],
)
def test_a_text_in_a_jar_keeps_nobody_busy(texts: dict[str, str], tmp_path: Path) -> None:
    part = {"pom.properties": "groupId=o\nartifactId=timer\nversion=1\n"} | texts
    path = tmp_path / "timer.jar"
    write_zip(path, {f"META-INF/maven/o/timer/{name}": t.encode() for name, t in part.items()})
    began = time.monotonic()
    jvm_plugins.pack(plugin(path, tmp_path / "cache"))
    assert time.monotonic() - began < 5


def test_a_jar_with_more_parts_than_any_has_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jars, "_MOST_PARTS", 2)
    names = [f"META-INF/maven/o/{name}/pom.properties" for name in "abc"]
    path = write_zip(tmp_path / "timer.jar", dict.fromkeys(names, b""))
    with pytest.raises(SourceError, match="3 parts of Maven"):
        jvm_plugins.pack(plugin(path, tmp_path / "cache"))


def test_what_a_killed_run_has_left_is_removed_a_day_later(archive: Path, tmp_path: Path) -> None:
    packed = plugin(archive, tmp_path / "cache")
    old, new = (packed.tarball.parent / f".plugin-{name}" for name in ("old", "new"))
    for directory in (old, new):
        (directory / "jars").mkdir(parents=True)
    os.utime(old, (0, 0))
    jvm_plugins.pack(packed)
    assert not old.exists()
    assert new.exists(), "another run may work there"


# A server


@pytest.fixture
def served(archive: Path) -> Iterator[str]:
    """The address of the directory of the archive."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(archive.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_url_is_fetched_and_compared(served: str, archive: Path, tmp_path: Path) -> None:
    url, cache = f"{served}/timer.zip?raw=true", str(tmp_path / "cache")
    packed = Plugin("connect", "timer", cache, url=url, recorded=sum_of(archive))
    jvm_plugins.pack(packed)
    assert members_of(packed) == ["timer", "timer/timer.jar"]
    with pytest.raises(SourceError, match=f"set sha256: {sum_of(archive)}"):
        jvm_plugins.pack(Plugin("connect", "timer", cache, url=url))
    with pytest.raises(SourceError, match=f"{sum_of(archive)}.*{'0' * 64}"):
        jvm_plugins.pack(Plugin("connect", "timer", cache, url=url, recorded="0" * 64))
    with pytest.raises(SourceError, match="404"):
        jvm_plugins.pack(Plugin("connect", "x", cache, url=f"{served}/x.zip", recorded="0" * 64))


@contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """The address of a file for which a server has one answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(2**16)
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/timer.zip"
        thread.join()


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b"nothing that HTTP knows\r\n\r\n", "cannot be fetched"),
        (b"HTTP/1.1 302 Found\r\nLocation: file:///etc/hostname\r\n\r\n", "file:///etc/hostname"),
        (b"HTTP/1.1 302 Found\r\nLocation: ftp://127.0.0.1/a.zip\r\n\r\n", "not encrypted"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nPK", "ended after 2 of 1000 bytes"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nPK",
            "cannot be fetched",
        ),
    ],
)
def test_a_server_that_answers_something_else_is_refused(
    answer: bytes, text: str, tmp_path: Path
) -> None:
    with answering(answer) as url, pytest.raises(SourceError, match=text):
        jvm_plugins.pack(Plugin("connect", "timer", str(tmp_path), url=url))


def test_an_encrypted_address_leads_to_no_other(tmp_path: Path) -> None:
    redirect: Any = jar_sources._Redirects().redirect_request
    request = urllib.request.Request("https://example.org/a.zip")
    answer = (request, None, 302, "Found", HTTPMessage())
    assert redirect(*answer, "https://other.example.org/a.zip")
    for other in ("http://example.org/a.zip", "HTTP://example.org/a.zip"):
        with pytest.raises(SourceError, match="not encrypted"):
            redirect(*answer, other)


# Maven


def test_maven_resolves_what_was_recorded(tmp_path: Path) -> None:
    """With the real one, which fetches a small artifact once."""
    maven, cache = "org.apache.kafka:connect-file:4.3.1", str(tmp_path)
    with pytest.raises(SourceError, match=r"set sha256: [0-9a-f]{64}") as refusal:
        jvm_plugins.pack(Plugin("connect", "file", cache, maven=maven))
    recorded = str(refusal.value).rpartition(" ")[2]
    packed = Plugin("connect", "file", cache, maven=maven, recorded=recorded)
    jvm_plugins.pack(packed)
    assert members_of(packed) == ["file", "file/connect-file-4.3.1.jar"], "without what Kafka has"
    names = jvm_plugins.read_contents(packed).names
    assert "org.apache.kafka.connect.file.FileStreamSourceConnector" in names
    command = f"cd {tmp_path} && tar -xf {packed.tarball} && cd file && sha256sum *.jar | sha256sum"
    printed = subprocess.run(["sh", "-c", command], check=True, capture_output=True, text=True)
    assert printed.stdout.split()[0] == recorded, "as the documentation computes it"
    with pytest.raises(SourceError, match=r"Maven cannot resolve org\.example:none:1"):
        jvm_plugins.pack(Plugin("connect", "none", cache, maven="org.example:none:1"))


def test_a_dependency_that_has_changed_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolved = [tmp_path / name for name in ("timer-1.jar", "dependency-2.jar")]
    for path in resolved:
        path.write_bytes(jar(f"org.example.{path.stem[0]}"))
    monkeypatch.setattr(jar_sources, "_resolve", lambda *_: resolved)
    maven = "org.example:timer:1"
    recorded = jar_sources.listed_sum(resolved)
    jvm_plugins.pack(Plugin("connect", "timer", str(tmp_path / "a"), maven, recorded=recorded))
    resolved[1].write_bytes(jar("org.example.Other"))
    with pytest.raises(SourceError, match=r"dependency-2\.jar, timer-1\.jar") as refusal:
        jvm_plugins.pack(Plugin("connect", "timer", str(tmp_path / "b"), maven, recorded=recorded))
    assert f"set sha256: {jar_sources.listed_sum(resolved)}" in str(refusal.value)


# What the cluster needs


def workers(tmp_path: Path, *plugins: dict[str, Any], **variables: Any) -> Cluster:
    """Return a cluster whose distributions are packed, with one class of Kafka's own."""
    settings = {"service_cache": str(tmp_path / "cache"), "connect_plugins": list(plugins)}
    deployment = cluster(GROUPS, {"k1": {"kafka_node_id": 1}}, **{**settings, **variables})
    for distribution in artifacts.wanted(deployment):
        distribution.tarball.parent.mkdir(parents=True, exist_ok=True)
        content = jar("org.apache.kafka.common.Uuid", "org.apache.kafka.connect.mirror.Mirror")
        pack_tar(distribution.tarball, content)
    return deployment


def pack_tar(path: Path, content: bytes) -> None:
    """Write a distribution with one jar."""
    with tarfile.open(path, "w") as tarball:
        member = tarfile.TarInfo("libs/own.jar")
        member.size = len(content)
        tarball.addfile(member, io.BytesIO(content))


def have(deployment: Cluster) -> list[str]:
    return jvm_plugins.have(deployment, lambda _: None)


def connector(class_name: str) -> dict[str, Any]:
    return {"name": "timer", "config": {"connector.class": class_name}}


@pytest.mark.parametrize("name", [CONNECTOR, "TimerSourceConnector", "TimerSource"])
def test_a_plugin_is_packed_once(name: str, archive: Path, tmp_path: Path) -> None:
    deployment = workers(tmp_path, entry(archive), connect_connectors=[connector(name)])
    (packed,) = have(deployment)
    assert have(deployment) == []
    assert Path(packed).name.startswith("connect-plugin-timer-")


def test_every_problem_is_named_at_once(archive: Path, tmp_path: Path) -> None:
    shadowing = write_zip(
        tmp_path / "s.zip",
        {
            "kafka-clients-3.jar": jar("org.apache.kafka.common.Uuid"),
            "own.jar": jar("org.apache.kafka.other.Own"),
        },
    )
    bad = write_zip(tmp_path / "b.zip", {"snappy.jar": jar(part=BAD)})
    outside = write_zip(tmp_path / "o.zip", {"../x.jar": jar()})
    entries = [
        entry(archive, "good"),
        entry(shadowing, "shadowing"),
        entry(bad, "bad"),
        entry(outside, "outside"),
        {**entry(archive, "wrong"), "sha256": "0" * 64},
    ]
    with pytest.raises(AnsibleError) as refusal:
        have(workers(tmp_path, *entries))
    lines = str(refusal.value).splitlines()
    assert "4 problems with plugins, no host was touched" in lines[0]
    text = str(refusal.value)
    for name in ("shadowing", "bad", "outside", "wrong"):
        assert f"connect_plugins[{name}]" in text
    assert "connect_plugins[good]" not in text
    assert "org.apache.kafka.common.Uuid" in text
    assert "exclude: [kafka-clients-3.jar]" in text
    assert "own.jar" not in text, "a package of Kafka's name that Kafka does not have"
    assert "org.xerial.snappy:snappy-java 1.1.10.4" in text


def test_what_has_no_sum_yet_is_judged_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that one run shows all that its entry needs, and exclude changes no sum."""
    resolved = [tmp_path / name for name in ("timer.jar", "kafka-clients-3.jar", "snappy.jar")]
    resolved[0].write_bytes(jar())
    resolved[1].write_bytes(jar("org.apache.kafka.common.Uuid"))
    resolved[2].write_bytes(jar("org.xerial.Snappy", part=BAD))
    monkeypatch.setattr(jar_sources, "_resolve", lambda *_: resolved)
    plain = {"name": "timer", "maven": "org.example:timer:1"}
    with pytest.raises(AnsibleError) as refusal:
        have(workers(tmp_path, plain))
    text = str(refusal.value)
    assert "exclude: [kafka-clients-3.jar]" in text
    assert "exclude: [snappy.jar]" in text
    (recorded,) = re.findall("set sha256: ([0-9a-f]{64})", text)
    excluded = {"exclude": ["kafka-clients-*.jar", "snappy*.jar"]}
    assert have(workers(tmp_path, {**plain, "sha256": recorded, **excluded}))


def test_a_known_hole_can_be_accepted_with_a_reason(tmp_path: Path) -> None:
    bad = write_zip(tmp_path / "b.zip", {"snappy.jar": jar(part=BAD)})
    with pytest.raises(AnsibleError) as refusal:
        have(workers(tmp_path, entry(bad)))
    (hole,) = re.findall(r'accepted_risks: \{"(.*?)":', str(refusal.value))
    accepted = {hole: "only our own data"}
    have(workers(tmp_path, entry(bad), accepted_risks=accepted))


@pytest.mark.parametrize(
    "config",
    [
        {"connector.class": "org.example.TimerSnkConnector"},
        {"connector.class": "TimerSink"},
        {"connector.class": CONNECTOR, "value.converter": "org.example.AvroConverter"},
        {"connector.class": CONNECTOR, "transforms": "a", "transforms.a.type": "org.example.Cut"},
    ],
)
def test_a_class_that_nothing_has_is_refused(
    config: dict[str, str], archive: Path, tmp_path: Path
) -> None:
    connectors = [{"name": "timer", "config": config}]
    with pytest.raises(AnsibleError) as refusal:
        have(workers(tmp_path, entry(archive), connect_connectors=connectors))
    assert "connect_connectors[timer].config." in str(refusal.value)
    assert [*config.values()][-1] in str(refusal.value)
    absent = [{**connectors[0], "state": "absent"}]
    have(workers(tmp_path, entry(archive), connect_connectors=absent))


def test_a_class_of_a_broker_has_to_be_there(archive: Path, tmp_path: Path) -> None:
    config = {"metric.reporters": CONNECTOR}
    with pytest.raises(AnsibleError, match=rf"kafka_config\.metric\.reporters is {CONNECTOR}"):
        have(workers(tmp_path, kafka_config=config))
    have(workers(tmp_path, kafka_config=config, kafka_plugins=[entry(archive)]))
    agent = ["-javaagent:/opt/agent.jar"]
    have(workers(tmp_path, kafka_config=config, kafka_java_options=agent))


def test_jars_of_a_job_are_compared_with_the_classes_of_spark(
    tmp_path: Path,
) -> None:
    groups = {"spark_masters": ["k1"], "spark_workers": ["k2"]}
    path = write_zip(tmp_path / "s.zip", {"spark-core.jar": jar("org.apache.spark.SparkConf")})
    job = {"name": "clicks", "source": str(tmp_path), "jars": [entry(path, "mine")]}
    deployment = cluster(groups, service_cache=str(tmp_path / "cache"), spark_jobs=[job])
    (distribution,) = jvm_plugins.read_for_jars(deployment)
    distribution.tarball.parent.mkdir(parents=True)
    pack_tar(distribution.tarball, jar("org.apache.spark.SparkConf"))
    with pytest.raises(AnsibleError, match=r"spark_jobs\[clicks\]\.jars\[mine\].*SparkConf"):
        jvm_plugins.have(deployment, lambda _: None, "spark")
    assert jvm_plugins.have(deployment, lambda _: None, "connect") == []


def test_what_others_may_change_is_refused(archive: Path, tmp_path: Path) -> None:
    deployment = workers(tmp_path, entry(archive))
    (packed,) = have(deployment)
    for path in (Path(packed), Path(f"{packed}.json")):
        path.chmod(0o666)
        with pytest.raises(AnsibleError, match="other accounts may change"):
            have(deployment)
        path.chmod(0o644)


def test_parts_of_plugins_are_listed(tmp_path: Path) -> None:
    part = ("org.example", "timer", "1.2.3")
    path = write_zip(tmp_path / "t.zip", {"timer-1.2.3.jar": jar(part=part)})
    deployment = workers(tmp_path, entry(path))
    have(deployment)
    written = jvm_plugins.write_boms(deployment, tmp_path / "sbom")
    (bom,) = [Path(name) for name in written if "connect_plugin-timer" in name]
    assert "pkg:maven/org.example/timer@1.2.3" in bom.read_text()
    assert len(written) >= 3, "Kafka, Connect and the plugin"
