"""What people find on a Spark host: properties, commands, and a catalog that is not open."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    parse_properties,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import desired
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka import security
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    bearer_token,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark.security import (
    UI_KEY,
)

from tests.unit.cluster.small import cluster, with_secrets

GROUPS = {"spark_masters": ["m1"], "spark_workers": ["w1"], "spark_metastore": ["m1"]}
SESSIONS = "/etc/spark/client/spark-defaults.conf"
DERBY = "/var/lib/spark/metastore/derby.properties"
URL = "spark.hadoop.javax.jdo.option.ConnectionURL"
PASSWORD = "spark.hadoop.javax.jdo.option.ConnectionPassword"


def files(host: str = "w1", *, catalog: bool = True, **variables: Any) -> dict[str, Any]:
    groups = GROUPS if catalog else {k: v for k, v in GROUPS.items() if k != "spark_metastore"}
    deployment = with_secrets(cluster(groups, {}, **{"spark_security": "standard", **variables}))
    return dict(desired.of_service(deployment, host, "spark")["files"])


def session(**variables: Any) -> dict[str, str]:
    return parse_properties(files(**variables)[SESSIONS]["content"])


def test_members_of_the_group_alone_read_the_properties() -> None:
    entry = files()[SESSIONS]
    assert (entry["mode"], entry["group"], entry["secret"]) == ("0640", "spark-users", True)
    assert not entry.get("restart")


def test_sessions_take_what_all_applications_have() -> None:
    configured = {"spark.sql.shuffle.partitions": 7, "spark.cores.max": 5}
    session_config = session(spark_config=configured)
    assert session_config["spark.sql.shuffle.partitions"] == "7"
    assert session_config["spark.cores.max"] == "5"
    assert session_config["spark.authenticate.secret"]
    assert session_config["spark.eventLog.dir"].endswith("/events")
    assert int(session()["spark.cores.max"]) > 0


def test_sessions_have_no_part_of_the_services() -> None:
    """Neither the key of their web interfaces nor how masters recover; nor a master."""
    written = files()
    assert not {"spark.master", "spark.deploy.recoveryMode", "spark.history.ui.port"} & {*session()}
    service = parse_properties(written["/etc/spark/spark-defaults.conf"]["content"])
    assert session()[UI_KEY] != service[UI_KEY]
    token = written["/etc/spark/client/ui-token"]
    assert token["content"].strip() == bearer_token(session()[UI_KEY])
    assert token["secret"]


def test_the_server_of_the_catalog_wants_the_password_that_sessions_have() -> None:
    on_server, session_config = files("m1"), session(spark_metastore_port=1528)
    server = parse_properties(on_server[DERBY]["content"])
    assert server["derby.user.spark"] == session_config[PASSWORD] != ""
    assert server["derby.connection.requireAuthentication"] == "true"
    assert session_config[URL].startswith("jdbc:derby://m1:1528/")
    assert ";ssl=" in session_config[URL]
    assert (on_server[DERBY]["mode"], on_server[DERBY]["secret"]) == ("0640", True)
    unit = on_server["/etc/systemd/system/spark-metastore.service"]["content"]
    assert " -h m1 -p 1527 -ssl basic " in unit
    assert DERBY not in files("w1")


def test_the_catalog_of_an_open_spark_is_open() -> None:
    session_config = session(spark_security="open")
    assert session_config[URL].startswith("jdbc:derby://m1:1527/")
    assert PASSWORD not in session_config
    unit = files("m1", spark_security="open")["/etc/systemd/system/spark-metastore.service"]
    assert " -ssl off " in unit["content"]
    assert "ExecStartPre" not in unit["content"]


def test_without_a_catalog_sessions_keep_their_own() -> None:
    assert not [key for key in session(catalog=False) if "javax.jdo" in key or "Catalog" in key]


def test_clients_of_connect_show_a_token_on_loopback() -> None:
    groups = {**GROUPS, "spark_connect": ["w1"]}
    deployment = with_secrets(cluster(groups, {}, spark_security="standard"))
    written = desired.of_service(deployment, "w1", "spark")["files"]
    unit = written["/etc/systemd/system/spark-connect.service"]["content"]
    environment = written["/etc/spark/connect-environment"]
    assert "binding.address=127.0.0.1 " in unit
    assert "EnvironmentFile=/etc/spark/connect-environment\n" in unit
    assert 'SPARK_CONF_DIR="/etc/spark/client"' in environment["content"]
    assert "(token)" in environment["content"]
    assert "(token)" not in unit
    assert (environment["mode"], environment["secret"]) == ("0640", True)
    [port] = [
        candidate
        for candidate in deployment.spark["w1"].listening
        if candidate.name == "spark_connect_port"
    ]
    assert port.callers == ("loopback",)


def test_secrets_are_made_for_what_there_is() -> None:
    groups = {**GROUPS, "spark_connect": ["w1"]}
    spark_hosts = cluster(groups, {}, spark_security="standard").spark
    needed = {security.SPARK_SESSION_UI_KEY, security.SPARK_METASTORE, security.SPARK_CONNECT}
    assert needed <= {*spark_hosts["w1"].security.missing}
    assert security.SPARK_CONNECT not in spark_hosts["m1"].security.missing
    alone = cluster({"spark_masters": ["m1"]}, {}, spark_security="standard").spark["m1"]
    assert needed & {*alone.security.missing} == {security.SPARK_SESSION_UI_KEY}
    assert not cluster(groups, {}, spark_security="open").spark["w1"].security.missing


@pytest.fixture
def command(tmp_path: Path) -> Any:
    """The launcher under a name of Spark's documentation, and a home that shows what it gets."""
    script = files()["/opt/millrace/spark-tool"]["content"]
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)

    def run(name: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / name).write_text(script.replace("/opt/millrace/spark\n", f"{home}\n"))
        target = home / "bin" / name.removesuffix(".sh")
        target.write_text('#!/bin/sh\necho "${MASTER:-none} $SPARK_CONF_DIR $(umask) $*"\n')
        target.chmod(0o755)
        environment = {"SPARK_CONF_DIR": str(tmp_path), **environment, "PATH": "/usr/bin:/bin"}
        return subprocess.run(
            ["/bin/sh", tmp_path / name, *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    (tmp_path / "spark-defaults.conf").write_text("")
    return run


def test_a_command_runs_on_the_cluster_with_its_properties(command: Any, tmp_path: Path) -> None:
    done = command("spark-submit", "a job.py", "two words")
    assert done.stdout == f"spark://m1:7077 {tmp_path} 0007 a job.py two words\n"
    assert command("spark-sql", MASTER="local[1]").stdout.startswith("local[1] ")
    assert command("spark-pipelines").stdout.startswith("none ")


@pytest.mark.parametrize("name", ["start-worker.sh", "stop-history-server", "start-all", "sparkR"])
def test_what_is_not_for_people_says_what_is(command: Any, name: str) -> None:
    done = command(name)
    assert (done.returncode, done.stdout) == (64, "")
    assert "systemctl" in done.stderr or "pyspark" in done.stderr


def test_who_may_not_read_the_properties_learns_the_group(command: Any, tmp_path: Path) -> None:
    done = command("spark-sql", SPARK_CONF_DIR=str(tmp_path / "missing"))
    assert done.returncode == 77
    assert "spark-users" in done.stderr
