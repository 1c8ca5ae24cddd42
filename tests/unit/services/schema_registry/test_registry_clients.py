"""By what clients of the schema registry reach it: on the control node, and in jobs on Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import (
    Cluster,
    resolve,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.desired import (
    authority_files,
    of_former_jobs,
    of_job,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.certificates import (
    new_authority,
)

from tests.unit.cluster.small import cluster, with_secrets

INSTANCES = ["r1", "r2"]
URL = "{0}://r1:8081/apis/ccompat/v7,{0}://r2:8081/apis/ccompat/v7"
CONFIG, AUTHORITY = "/etc/spark/job-orders-registry.conf", "/etc/spark/job-orders-registry.pem"
ABSENT = {"state": "absent", "secret": True}
USERS = [{"name": "orders", "role": "read"}]


def deployment(tmp_path: Path, **variables: Any) -> Cluster:
    """Brokers, two instances of the registry, and Spark with a job."""
    (tmp_path / "orders.py").touch()
    job = {"name": "orders", "source": str(tmp_path / "orders.py"), "kafka_user": "orders"}
    groups = {"kafka_brokers": ["k1"], "schema_registry": INSTANCES, "spark_masters": ["m1"]}
    return cluster(groups, spark_jobs=[job], spark_shared_dir="/srv/spark", **variables)


def of_orders(deployment: Cluster) -> dict[str, Any]:
    host = deployment.spark["m1"]
    files: dict[str, Any] = of_job(host, host.drivers.jobs[0])["files"]
    return files


def test_an_open_registry_wants_no_login(tmp_path: Path) -> None:
    cluster = deployment(tmp_path)
    registry = cluster.schema_registry["r1"]
    assert registry.client_config("anybody", "ca.pem") == {"url": URL.format("http")}
    files = of_orders(cluster)
    assert files[CONFIG]["content"].splitlines()[1:] == [f"url={URL.format('http')}"]
    assert files[AUTHORITY] == ABSENT


@pytest.fixture
def closed(tmp_path: Path) -> Cluster:
    security = {"schema_registry_security": "standard", "schema_registry_users": USERS}
    return with_secrets(deployment(tmp_path, **security))


def test_a_user_logs_in_and_trusts_the_clusters_ca(closed: Cluster) -> None:
    registry = closed.schema_registry["r1"]
    assert registry.client_config("orders", "ca.pem") == {
        "url": URL.format("https"),
        "ssl.ca.location": "ca.pem",
        "basic.auth.user.info": "orders:(password of schema_registry/orders)",
    }
    assert registry.client_config("admin", "ca.pem")["basic.auth.user.info"].startswith("admin:")
    assert not registry.client_config("stranger", "ca.pem")


def test_a_job_logs_in_as_the_user_that_has_its_name(closed: Cluster) -> None:
    files = of_orders(closed)
    login = files[CONFIG]
    assert (login["mode"], login["secret"]) == ("0640", True)
    assert "basic.auth.user.info=orders:(password of schema_registry/orders)" in login["content"]
    assert f"ssl.ca.location={AUTHORITY}" in login["content"]
    assert files[AUTHORITY]["content"] == "(certificate of the CA)\n"


def test_a_change_of_the_ca_brings_what_its_drivers_trust(closed: Cluster) -> None:
    host, recorded = closed.spark["m1"], closed.inventory.secrets
    (path,) = host.drivers.authorities()
    assert path == AUTHORITY
    assert host.drivers.authorities()[path] == of_orders(closed)[path]
    real = replace(recorded, authority=new_authority("x").certificate)
    resolved = resolve(replace(closed.inventory, secrets=real))
    assert AUTHORITY in authority_files(resolved, "m1", ["ca.pem"])
    assert AUTHORITY not in authority_files(resolved, "m1", ["connect-ca.pem"])


def test_a_job_without_a_user_of_the_registry_loses_its_login(tmp_path: Path) -> None:
    files = of_orders(deployment(tmp_path, schema_registry_security="standard"))
    assert (files[CONFIG], files[AUTHORITY]) == (ABSENT, ABSENT)


def test_its_login_goes_with_the_job(closed: Cluster) -> None:
    removed = of_former_jobs(closed.spark["m1"], ["spark-job-former.service"])["removed"]
    assert {"/etc/spark/job-former-registry.conf", "/etc/spark/job-former-registry.pem"} <= {
        *removed
    }
