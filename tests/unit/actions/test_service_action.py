"""The control node's part of the module service: options from the model, and the tarball."""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.plugin_utils import operation, run
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import desired
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import store as secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka import security

from tests.unit.in_process import AnsibleRun, Answer, call_module
from tests.unit.inspections import answer_with
from tests.unit.module_runner import OWN, run_playbook
from tests.unit.modules.fake_systemd import install

pytestmark = pytest.mark.usefixtures("local_tmp")
HOSTS = """\
all: {vars: {kafka_security: open}}
kafka_brokers: {hosts: {k1: {kafka_node_id: 1}}}
kafka_controllers: {hosts: {k1: null}}
spark_masters: {hosts: {k1: null}}
zookeeper: {hosts: {z1: {zookeeper_id: 1}}}
"""


def answer(_: str, options: Answer) -> Answer:
    """Stand for a host on which everything is as it should be."""
    return {"changed": False, "options": options}


@pytest.fixture
def ansible(tmp_path: Path) -> AnsibleRun:
    (tmp_path / "hosts.yml").write_text(HOSTS)
    return AnsibleRun(tmp_path / "hosts.yml", answer)


# Options


def options(ansible: AnsibleRun, **args: Any) -> Answer:
    arguments: Answer = ansible.task("service", "k1", **args)["options"]
    return arguments


def test_a_product_has_the_options_of_the_model(ansible: AnsibleRun) -> None:
    arguments = options(ansible, product="kafka")
    assert arguments.keys() == {
        "distribution",
        "plugins",
        "plugin_directory",
        "files",
        "previous",
        "units",
        "starts_after",
        "restart_marks",
    }
    assert arguments["distribution"]["home"].startswith("/opt/millrace/kafka-")
    assert "/etc/kafka/server.properties" in arguments["files"]
    assert arguments["units"] == ["kafka"]


@pytest.mark.parametrize(
    ("sections", "names"),
    [
        (["distribution"], {"distribution", "plugins", "plugin_directory"}),
        (["files"], {"files", "restart_marks", "previous"}),
        (["units"], {"units", "starts_after", "restart_marks"}),
        (
            ["distribution", "units"],
            {
                "distribution",
                "plugins",
                "plugin_directory",
                "units",
                "starts_after",
                "restart_marks",
            },
        ),
    ],
)
def test_parts_are_a_choice_of_them(
    ansible: AnsibleRun, sections: list[str], names: set[str]
) -> None:
    assert options(ansible, product="kafka", parts=sections).keys() == names


def test_options_of_the_task_win(ansible: AnsibleRun) -> None:
    arguments = options(ansible, product="kafka", parts=["units"], started=True, units=["other"])
    assert (arguments["started"], arguments["units"]) == (True, ["other"])
    assert options(ansible, units=["kafka"]) == {"units": ["kafka"]}


def test_the_host_itself_is_a_product(ansible: AnsibleRun) -> None:
    assert options(ansible, product="host").keys() == {"files"}


def test_a_host_whose_files_were_found_current_is_not_asked_again(ansible: AnsibleRun) -> None:
    files = options(ansible, product="host")["files"]
    ansible.register("k1", run.INSPECTION, {"current_files": desired.digest(files)})
    assert ansible.task("service", "k1", product="host") == {"changed": False}
    for digest in ("", desired.digest({**files, "/etc/more": {"content": ""}})):
        ansible.register("k1", run.INSPECTION, {"current_files": digest})
        assert options(ansible, product="host")["files"] == files


@pytest.mark.parametrize(
    "args", [{"product": "kafka"}, {"units": ["kafka"], "started": True}], ids=["files", "start"]
)
def test_a_host_knows_which_operations_a_run_has_judged(ansible: AnsibleRun, args: Answer) -> None:
    assert "judged_operations" not in options(ansible, **args), "the host was not inspected"
    ansible.register("k1", run.INSPECTION, {"inspection": answer_with(), "clock_offset": 0})
    assert options(ansible, **args)["judged_operations"] == []
    inspection = answer_with(operation={"id": "dead"})
    ansible.register("k1", run.INSPECTION, {"inspection": inspection, "clock_offset": 0})
    own_id = operation.current("site")["id"]
    assert options(ansible, **args)["judged_operations"] == [own_id, "dead"]
    assert "judged_operations" not in options(ansible, units=["other"])


@pytest.fixture
def closed(tmp_path: Path) -> AnsibleRun:
    """A closed cluster without any secret."""
    (tmp_path / "hosts.yml").write_text(HOSTS.replace("open", "standard"))
    return AnsibleRun(tmp_path / "hosts.yml", answer)


@pytest.mark.parametrize(
    ("host", "product", "missed"),
    [
        ("k1", "kafka", ["k1/node", "k1/clients"]),
        ("k1", "spark", ["flights-stream"]),
        (
            "z1",
            "zookeeper",
            ["z1/ensemble-zookeeper", "zookeeper-ca.pem", "zookeeper-clients-ca.pem"],
        ),
    ],
)
def test_files_without_the_secrets_of_the_host_are_not_written(
    closed: AnsibleRun, tmp_path: Path, host: str, product: str, missed: list[str]
) -> None:
    with pytest.raises(AnsibleError) as refusal:
        closed.task("service", host, product=product)
    for text in (f"{tmp_path}/.secrets", *missed):
        assert text in str(refusal.value)
    assert closed.calls == []


def test_what_needs_no_secret_is_written_without_them(closed: AnsibleRun) -> None:
    assert closed.task("service", "k1", product="host")["options"]["files"]
    arguments = options(closed, product="kafka", state="absent")
    assert "/etc/kafka/server.properties" in arguments["removed"]


def test_files_have_the_secrets_of_the_host(closed: AnsibleRun, tmp_path: Path) -> None:
    secrets.complete(closed.cluster("k1"), None, store=True)
    files = options(closed.next_run(), product="kafka")["files"]
    for path, name in ((security.NODE_STORE, "node"), (security.CLIENTS_STORE, "clients")):
        pem = tmp_path / f".secrets/certificates/k1/{name}.pem"
        assert files[path]["content"] == pem.read_text()
        assert files[path]["secret"]


def test_a_product_is_removed_with_the_options_of_the_model(ansible: AnsibleRun) -> None:
    arguments = options(ansible, product="kafka", state="absent")
    assert arguments["state"] == "absent"
    assert "/etc/kafka/server.properties" in arguments["removed"]
    assert "files" not in arguments


def test_the_firewall_is_removed_with_the_options_of_the_model(ansible: AnsibleRun) -> None:
    arguments = options(ansible, product="host", state="absent")
    assert arguments["units"] == ["millrace-firewall"]


def test_a_job_has_the_options_of_the_model(ansible: AnsibleRun, tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/main.py").write_text("# job\n")
    job = {"name": "it", "module": "jobs.main", "source": str(tmp_path / "jobs")}
    arguments = options(ansible, job=job, started=True)
    assert arguments["units"] == ["spark-job-it"]
    assert arguments["files"]["/opt/millrace/jobs/it/jobs/main.py"]["content"] == "# job\n"
    assert "job" not in arguments


@pytest.fixture
def clicks(tmp_path: Path) -> AnsibleRun:
    """A run with a job in its inventory, and one that is to go."""
    (tmp_path / "clicks.py").write_text("# job\n")
    jobs = f"[{{name: clicks, source: {tmp_path}/clicks.py}}, {{name: old, state: absent}}]"
    text = HOSTS.replace("kafka_security: open", f"kafka_security: open, spark_jobs: {jobs}")
    text = text.replace("security: open", "security: open, spark_security: open")
    (tmp_path / "hosts.yml").write_text(text)
    return AnsibleRun(tmp_path / "hosts.yml", answer)


def test_a_job_of_the_inventory_is_given_by_its_name(clicks: AnsibleRun) -> None:
    arguments = options(clicks, job={"name": "clicks"}, started=True)
    assert arguments["files"]["/opt/millrace/jobs/clicks/clicks.py"]["content"] == "# job\n"
    with pytest.raises(AnsibleError, match="Did you mean clicks"):
        options(clicks, job={"name": "click"})
    with pytest.raises(AnsibleError, match="old"):
        options(clicks, job={"name": "old"})


def test_former_jobs_are_removed_with_the_options_of_the_model(clicks: AnsibleRun) -> None:
    units = ["spark-job-clicks.service", "spark-job-old.service"]
    arguments = options(clicks, former_jobs=units, state="absent")
    assert (arguments["state"], arguments["units"]) == ("absent", ["spark-job-old.service"])
    assert "former_jobs" not in arguments
    assert options(clicks, former_jobs=[], state="absent")["units"] == []


def test_former_monitoring_is_removed_with_the_options_of_the_model(ansible: AnsibleRun) -> None:
    account, kafka_account = (
        f"/etc/sysusers.d/millrace-{name}.conf" for name in ("metrics", "kafka")
    )
    arguments = options(ansible, former_monitoring=[account], state="absent")
    assert (arguments["state"], "former_monitoring" in arguments) == ("absent", False)
    assert "millrace-host-metrics" in arguments["units"]
    assert options(ansible, former_monitoring=[kafka_account], state="absent")["units"] == []


def test_a_node_exporter_of_the_site_takes_the_place_of_that_of_millrace(tmp_path: Path) -> None:
    settings = "metrics_enabled: true, metrics_node_exporter: site, metrics_security: open"
    (tmp_path / "hosts.yml").write_text(HOSTS.replace("open}", f"open, {settings}}}", 1))
    ansible = AnsibleRun(tmp_path / "hosts.yml", answer)
    masks = options(ansible, product="metrics", parts=["former_masks"], state="absent")
    assert masks["state"] == "absent"
    assert "/etc/systemd/system/prometheus-node-exporter.service" in masks["masks"]
    assert not [path for path in masks["masks"] if "exporter-exporter" in path]
    assert "removed" not in masks
    units = options(ansible, product="metrics", parts=["former_units"], state="absent")
    assert units == {"state": "absent", "units": ["millrace-node-exporter"]}


def test_logins_are_written_alone(closed: AnsibleRun) -> None:
    secrets.complete(closed.cluster("k1"), None, store=True)
    arguments = options(closed.next_run(), product="spark", parts=["logins"])
    assert {Path(path).parent for path in arguments["files"]} == {Path("/etc/spark")}
    assert "units" not in arguments


@pytest.mark.parametrize(
    ("host", "args", "message"),
    [
        ("z1", {"product": "kafka"}, "kafka"),
        ("k1", {"product": "zookeeper", "state": "absent"}, "zookeeper"),
        ("z1", {"job": {"name": "it", "module": "m", "source": "/none"}}, "spark"),
        (
            "k1",
            {"job": {"name": "it", "module": "m", "source": __file__, "data": ["/none/x"]}},
            "/none/x",
        ),
    ],
)
def test_what_a_host_does_not_have_is_refused(
    ansible: AnsibleRun, host: str, args: dict[str, Any], message: str
) -> None:
    with pytest.raises(AnsibleError, match=message):
        ansible.task("service", host, **args)
    assert ansible.calls == []


# The tarball


@pytest.fixture
def tarball(tmp_path: Path) -> dict[str, Any]:
    """The option `distribution` of a small tarball."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/program").write_text("#!/bin/sh\n")
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(tmp_path / "tree", ".")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"home": str(tmp_path / "opt/it-1"), "sha256": sha256, "tarball": str(path)}


@pytest.fixture
def on_host(ansible: AnsibleRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AnsibleRun:
    """A run in which this machine is the host."""
    install(tmp_path / "systemd", monkeypatch)
    (tmp_path / "remote").mkdir()
    ansible.tmpdir = str(tmp_path / "remote")
    ansible.module = call_module
    return ansible


def deliver(ansible: AnsibleRun, distribution: dict[str, Any], **settings: Any) -> Answer:
    return ansible.task("service", "k1", distribution=distribution, **settings)


def test_a_tarball_is_transferred_where_it_is_not_unpacked(
    on_host: AnsibleRun, tarball: dict[str, Any]
) -> None:
    assert deliver(on_host, tarball)["changed"]
    assert (Path(tarball["home"]) / "program").exists()
    request, unpacked = (options["distribution"] for _, options in on_host.calls)
    assert "archive" not in request
    assert request["size"] == Path(tarball["tarball"]).stat().st_size, "for the check of the space"
    assert Path(unpacked["archive"]).parent == Path(on_host.tmpdir or "")
    assert on_host.removed == [on_host.tmpdir], "nothing is left in the temporary directory"


def test_an_unpacked_one_needs_no_tarball(on_host: AnsibleRun, tarball: dict[str, Any]) -> None:
    deliver(on_host, tarball)
    Path(tarball["tarball"]).unlink()
    on_host.calls.clear()
    assert deliver(on_host, tarball)["changed"] is False
    assert len(on_host.calls) == 1


def test_another_tarball_is_not_transferred(on_host: AnsibleRun, tarball: dict[str, Any]) -> None:
    with pytest.raises(AnsibleError) as refusal:
        deliver(on_host, {**tarball, "sha256": "0" * 64})
    for text in (tarball["tarball"], tarball["sha256"], "0" * 64):
        assert text in str(refusal.value)
    assert not Path(tarball["home"]).exists()
    assert not list(Path(on_host.tmpdir or "").iterdir())


def test_a_missing_tarball_is_named(on_host: AnsibleRun, tarball: dict[str, Any]) -> None:
    Path(tarball["tarball"]).unlink()
    with pytest.raises(AnsibleError, match=tarball["tarball"]):
        deliver(on_host, tarball)


def test_what_the_host_refuses_is_not_followed_by_a_transfer(
    on_host: AnsibleRun, tarball: dict[str, Any]
) -> None:
    Path(tarball["home"]).mkdir(parents=True)
    assert deliver(on_host, tarball)["failed"]
    assert len(on_host.calls) == 1


def test_a_host_without_space_for_the_tarball_is_named(
    on_host: AnsibleRun, tarball: dict[str, Any]
) -> None:
    on_host.tmpdir = f"{on_host.tmpdir}/full"
    with pytest.raises(AnsibleError, match="1 MiB") as refusal:
        deliver(on_host, tarball)
    assert str(on_host.tmpdir) in str(refusal.value)
    assert on_host.removed == [on_host.tmpdir]


def test_ansible_runs_both_halves_and_shows_no_secret(
    tmp_path: Path, tarball: dict[str, Any]
) -> None:
    """As in a run: packed, sent to a host that is this machine, its answer as it is shown."""
    secret = {**OWN, "content": "hunter2", "secret": True}
    task = {
        "millrace.streaming.service": {
            "distribution": tarball,
            "files": {f"{tmp_path}/secret": secret},
        }
    }
    result = run_playbook(tmp_path, task, "--diff", "-v")
    assert result["changed"], result
    assert "hunter2" not in str(result)
    assert (tmp_path / "secret").read_text() == "hunter2"
    assert (Path(tarball["home"]) / ".unpacked").read_text().strip() == tarball["sha256"]
    assert not list(Path(tmp_path / "remote").rglob("archive*.tar"))
