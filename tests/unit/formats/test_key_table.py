from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats import key_table, versions
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.service import Service
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.connect import (
    key_table as connect_key_table,
)

from artifacts import class_files
from artifacts.hdfs import keys as hdfs_keys
from artifacts.kafka import keys
from artifacts.schema_registry import keys as registry_keys
from tests.unit.rules.draft import Draft

PAGE = """<ul class="config-list">
<li>
<h4><a id="b.ms"></a><a id="brokerconfigs_b.ms" href="#brokerconfigs_b.ms">b.ms</a></h4>
<p>See <code>a.list</code>.</p>
<table><tbody>
<tr><th>Type:</th><td>long</td></tr>
<tr><th>Default:</th><td>86400000 (1 day)</td></tr>
<tr><th>Valid Values:</th><td>[1,...]</td></tr>
<tr><th>Importance:</th><td>low</td></tr>
<tr><th>Update Mode:</th><td>cluster-wide</td></tr>
</tbody></table>
</li>
<li>
<h4><a id="a.list"></a><a href="#a">a.list</a></h4>
<p></p>
<table><tbody>
<tr><th>Type:</th><td>list</td></tr>
<tr><th>Default:</th><td>""</td></tr>
<tr><th>Valid Values:</th><td>[a &amp; b, c]</td></tr>
<tr><th>Importance:</th><td>high</td></tr>
<tr><th>Update Mode:</th><td>read-only</td></tr>
</tbody></table>
</li>
<li>
<h4><a href="#c">c</a></h4>
<table><tbody>
<tr><th>Type:</th><td>int</td></tr>
<tr><th>Default:</th><td></td></tr>
<tr><th>Valid Values:</th><td></td></tr>
<tr><th>Importance:</th><td>high</td></tr>
<tr><th>Update Mode:</th><td>per-broker</td></tr>
</tbody></table>
</li>
</ul>"""


def test_parser_reads_every_field_and_sorts() -> None:
    table = keys.parse(PAGE)
    assert list(table) == ["a.list", "b.ms", "c"]
    assert table["a.list"] == {
        "type": "list",
        "default": "",
        "valid": "[a & b, c]",
        "importance": "high",
        "update": "read-only",
    }
    assert table["b.ms"]["default"] == "86400000"
    assert "default" not in table["c"], "a key that must be set has no default"


def test_null_default_is_none() -> None:
    assert keys.parse(PAGE.replace('""', "null"))["a.list"]["default"] is None


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("<html></html>", "the page holds no key"),
        (PAGE.replace("Update Mode", "Mode"), "b.ms|a.list: the page has no Update Mode"),
    ],
)
def test_another_layout_is_refused(page: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        keys.parse(page)


def test_file_has_one_key_a_line() -> None:
    text = keys.render(keys.parse(PAGE))
    assert json.loads(text) == keys.parse(PAGE)
    assert [line.split(":")[0] for line in text.splitlines()[1:-1]] == ['"a.list"', '"b.ms"', '"c"']


@pytest.mark.parametrize("version", sorted(versions.KAFKA.supported))
def test_every_supported_version_has_a_table_as_the_script_writes_it(version: str) -> None:
    table = key_table.load(version)
    assert "process.roles" in table or "broker.id" in table
    text = (key_table.TABLES / f"{version}.json").read_text()
    assert text == keys.render({key: dict(entry) for key, entry in table.items()})


@pytest.mark.parametrize(
    ("key", "update"),
    [
        ("process.roles", "read-only"),
        ("num.partitions", "read-only"),
        ("listeners", "per-broker"),
        ("ssl.keystore.location", "per-broker"),
        ("min.insync.replicas", "cluster-wide"),
        ("log.retention.ms", "cluster-wide"),
        ("num.io.threads", "cluster-wide"),
    ],
)
def test_update_modes(key: str, update: str) -> None:
    assert key_table.load("4.3.1")[key]["update"] == update


@pytest.mark.parametrize("version", sorted(versions.CONNECT.supported))
def test_every_version_of_connect_has_a_table_as_the_script_writes_it(version: str) -> None:
    table = key_table.read(connect_key_table.TABLES, version)
    assert {"group.id", "producer.acks", "consumer.isolation.level", "admin.retries"} <= {*table}
    text = (connect_key_table.TABLES / f"{version}.json").read_text()
    assert text == keys.render({key: dict(entry) for key, entry in table.items()})


def test_a_page_may_have_fewer_fields() -> None:
    fields = ("Type", "Default", "Valid Values")
    assert keys.parse(PAGE, fields)["c"] == {"type": "int", "valid": ""}


def test_no_table_of_an_unknown_version_or_outside_the_directory() -> None:
    assert key_table.load("9.9.9") == {}
    assert key_table.load("../../../package") == {}


@pytest.mark.parametrize(
    "key",
    [
        "num.partitions",
        "super.users",
        "listener.name.client.ssl.keystore.location",
        "listener.name.client.scram-sha-512.sasl.jaas.config",
        "config.providers.file.class",
        "rsm.config.bucket",
        "metrics.jmx.exclude",
    ],
)
def test_known_keys(key: str) -> None:
    assert key_table.is_known(key, key_table.load("4.3.1"))


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("num.partition", "num.partitions"),
        (
            "listener.name.client.ssl.keystore.locatoin",
            "listener.name.client.ssl.keystore.location",
        ),
        ("superusers", "super.users"),
        ("xyz", ""),
    ],
)
def test_nearest_of_an_unknown_key(key: str, near: str) -> None:
    table = key_table.load("4.3.1")
    assert not key_table.is_known(key, table)
    assert key_table.nearest_key(key, table) == near


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num.partitions", 3),
        ("num.partitions", "3"),
        ("log.retention.ms", -1),
        ("auto.create.topics.enable", "False"),
        ("auto.create.topics.enable", True),
        ("log.cleanup.policy", ["compact", "delete"]),
        ("log.cleanup.policy", "compact,delete"),
        ("log.cleaner.min.cleanable.ratio", "0.5"),
        ("compression.type", "zstd"),
        ("compression.gzip.level", -1),
        ("ssl.keystore.password", "${file:/etc/kafka/secrets:password}"),
        ("num.partitions", "${env:PARTITIONS}"),
        ("super.users", "User:a;User:b"),
        ("listener.name.client.connections.max.reauth.ms", 3600000),
        ("rsm.config.anything", True),
    ],
)
def test_legal_values(key: str, value: object) -> None:
    assert key_table.expected_value(key, value, key_table.load("4.3.1")) == ""


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("num.partitions", "three", "an int, [1,...,2147483647]"),
        ("num.partitions", 0, "an int, [1,...,2147483647]"),
        ("num.partitions", True, "an int"),
        ("num.partitions", 2.0, "an int"),
        ("num.partitions", 2**31, "an int"),
        ("num.partitions", None, "an int"),
        ("num.partitions", [1], "an int"),
        ("auto.create.topics.enable", "no", "a boolean"),
        ("log.cleanup.policy", "compact,remove", "a list, [compact, delete]"),
        ("log.cleaner.min.cleanable.ratio", 1.5, "a double, [0,...,1]"),
        ("log.cleaner.min.cleanable.ratio", "half", "a double"),
        ("compression.type", "zip", "zstd"),
        ("ssl.client.auth", False, "in quotes"),
        ("compression.gzip.level", 10, "[1,...,9] or -1"),
        ("listener.name.client.connections.max.reauth.ms", "1h", "a long"),
        ("rsm.config.anything", {"a": 1}, "a string"),
    ],
)
def test_illegal_values(key: str, value: object, expected: str) -> None:
    assert expected in key_table.expected_value(key, value, key_table.load("4.3.1"))


def services(product: str) -> list[Service]:
    draft = Draft().hdfs().registry()
    clusters = [draft.cluster()]
    for variable in ("kafka_security", "schema_registry_security"):
        draft.variable(variable, "standard")
    clusters.append(draft.cluster())
    parts_of_product = [
        service for cluster in clusters for service in cluster.by_product[product].values()
    ]
    return [service for service in parts_of_product if isinstance(service, Service)]


@pytest.mark.parametrize("product", ["hdfs", "schema_registry"])
def test_what_millrace_writes_is_known(product: str) -> None:
    for service in services(product):
        assert [key for key in (*service.config, *service.owned) if not _reads(service, key)] == []
        wrong = {
            key: value
            for key, value in service.config.items()
            if key_table.expected_value(key, value, service.table)
        }
        assert wrong == {}


def _reads(service: Service, key: str) -> bool:
    return service.knows(key) or key == "config_ordinal"  # of MicroProfile: of the file itself


def jar(path: Path, files: Mapping[str, str | bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def class_of(*texts: str) -> bytes:
    constants = b"".join(b"\x01" + len(text).to_bytes(2, "big") + text.encode() for text in texts)
    return b"\xca\xfe\xba\xbe" + constants


def test_keys_of_hdfs_are_read_from_its_jars(tmp_path: Path) -> None:
    defaults = """<configuration>
<property><name>dfs.x.enabled</name><value>true</value></property>
<property><name>dfs.x.period</name><value>600s</value></property>
<property><name>dfs.x.spec</name><value>1,2</value></property></configuration>"""
    content = class_of("dfs.x.hidden", "dfs.x.", "other.key", "hdfs-default.xml", "dfs.y.xml")
    jar(
        tmp_path / "libs/hadoop-hdfs-1.jar",
        {"hdfs-default.xml": defaults, "a/B.class": content},
    )
    assert hdfs_keys.table(tmp_path) == {
        "dfs.x.enabled": {"type": "boolean", "default": "true"},
        "dfs.x.period": {"type": "quantity", "default": "600s"},
        "dfs.x.spec": {"default": "1,2"},
        "dfs.x.hidden": {},
    }


def test_keys_of_the_registry_are_read_from_its_jars(tmp_path: Path) -> None:
    def item(key: str, kind: str) -> dict[str, object]:
        return {"path": {"property": key}, "type": kind}

    model = {
        "configRoots": [
            {
                "items": [
                    item("quarkus.a.b", "java.util.OptionalInt"),
                    {"items": [item("quarkus.c.d", "boolean")]},
                ]
            },
            {"prefix": "quarkus.empty"},
        ]
    }
    jar(tmp_path / "lib/main/quarkus-a.jar", {registry_keys._MODEL: json.dumps(model)})
    jar(
        tmp_path / "app/apicurio-app.jar",
        {
            "application.properties": "# x\n%prod.apicurio.p=1\napicurio.q.r=${A}\nz=1\n",
            "a/B.class": class_of("apicurio.s.t", "io.apicurio.X"),
        },
    )
    assert registry_keys.table(tmp_path) == {
        "quarkus.a.b": {"type": "int"},
        "quarkus.c.d": {"type": "boolean"},
        **{key: {} for key in ("apicurio.p", "apicurio.q.r", "apicurio.s.t")},
    }


def test_the_table_has_a_line_for_each_key() -> None:
    lines = class_files.render({"b": {"type": "int"}, "a": {}}).splitlines()
    assert lines == ["{", '"a": {},', '"b": {"type": "int"}', "}"]
