"""What the jobs of the inventory become on the hosts, and what is removed of former ones."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.desired import (
    of_former_jobs,
    of_job,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.host import Facts
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark.jobs import (
    Job,
    of_settings,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark.model import (
    SparkHost,
)

from tests.unit.cluster.small import spark
from tests.unit.cluster.systemd_analyze import analyze, exposures, needs_systemd

UNITS = "/etc/systemd/system"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with a part."""
    folder = tmp_path / "clicks"
    (folder / "parts").mkdir(parents=True)
    for name in ("__main__.py", "stream.py", "parts/__init__.py", "parts/sink.py"):
        (folder / name).write_text(f"# {name}\n")
    return folder


def with_jobs(*jobs: dict[str, Any], **variables: Any) -> Cluster:
    return spark(["m1"], {}, spark_jobs=list(jobs), **variables)


def states(deployment: Cluster) -> dict[str, dict[str, Any]]:
    host = deployment.spark["m1"]
    return {job.name: of_job(host, job) for job in host.drivers.jobs}


def environment(text: str) -> dict[str, str]:
    pairs = [line.partition("=") for line in text.splitlines() if "=" in line]
    return {name: shlex.split(value)[0] for name, _, value in pairs}


def test_a_package_comes_with_its_parts(package: Path) -> None:
    job = {"name": "clicks", "source": str(package), "module": "clicks.stream"}
    entries = states(with_jobs(job))["clicks"]["files"]
    at = "/opt/millrace/jobs/clicks/clicks"
    assert entries[f"{at}/parts/sink.py"] == {"content": "# parts/sink.py\n", "restart": True}
    assert entries[f"{at}/parts"]["state"] == "directory"
    assert "-m clicks.stream" in entries[f"{UNITS}/spark-job-clicks.service"]["content"]


def test_a_single_file_is_its_own_module(package: Path) -> None:
    job = {"name": "one", "source": str(package / "stream.py")}
    entries = states(with_jobs(job))["one"]["files"]
    assert "/opt/millrace/jobs/one/stream.py" in entries
    # What every driver may import.
    assert "def run(" in entries["/opt/millrace/jobs/one/millrace_job.py"]["content"]
    assert "-m stream\n" in entries[f"{UNITS}/spark-job-one.service"]["content"]


def test_a_pipeline_comes_with_its_sql_and_what_runs_it(package: Path) -> None:
    (package / "spark-pipeline.yml").touch()
    (package / "parts/tables.sql").touch()
    job = {"name": "clicks", "source": str(package), "module": "clicks.stream"}
    entries = states(with_jobs(job))["clicks"]["files"]
    at = "/opt/millrace/jobs/clicks"
    for name in ("clicks/spark-pipeline.yml", "clicks/parts/tables.sql", "millrace_pipelines.py"):
        assert f"{at}/{name}" in entries


@pytest.mark.parametrize(
    "program", ["from millrace_avro import decode\n", "import millrace_avro\n"]
)
def test_what_reads_avro_comes_with_a_job_that_imports_it(package: Path, program: str) -> None:
    job = {"name": "clicks", "source": str(package), "module": "clicks.stream"}
    helper = "/opt/millrace/jobs/clicks/millrace_avro.py"
    assert helper not in states(with_jobs(job))["clicks"]["files"]
    (package / "stream.py").write_text(program)
    state = states(with_jobs(job))["clicks"]
    assert "def decode(" in state["files"][helper]["content"]
    assert state["ready"]["spark-job-clicks"] == "/run/spark-job-clicks", "it reports nothing"


def packages_home(host: SparkHost) -> str:
    packages = host.drivers.packages(host.drivers.jobs[0])
    assert packages
    return packages.home


def test_its_python_packages_are_for_the_python_of_its_host(package: Path) -> None:
    (package / "needed.txt").write_text("tabulate==0.9.0 --hash=sha256:0\n")
    job = {"name": "clicks", "source": str(package), "requirements": str(package / "needed.txt")}
    host = with_jobs(job).spark["m1"]
    with_facts = replace(host, host=replace(host.host, facts=Facts(python="3.13")))
    assert "3.13" in packages_home(with_facts)
    assert "3.13" not in packages_home(host)
    chosen = with_jobs(job, spark_python_version="3.12").spark["m1"]
    assert "3.12" in packages_home(
        replace(chosen, host=replace(chosen.host, facts=Facts(python="3.13")))
    )


def test_its_python_packages_are_on_the_path_of_driver_and_executors(package: Path) -> None:
    job = {"name": "clicks", "source": str(package), "requirements": str(package / "needed.txt")}
    (package / "needed.txt").write_text("tabulate==0.9.0 --hash=sha256:0\n")
    deployment = with_jobs(job, spark_python_version="3.12")
    host = deployment.spark["m1"]
    home = packages_home(host)
    assert "3.12" in home
    variables = environment(
        states(deployment)["clicks"]["files"]["/etc/spark/job-clicks"]["content"]
    )
    assert home in variables["PYTHONPATH"].split(":")
    assert f"spark.executorEnv.PYTHONPATH={home}" in shlex.split(variables["PYSPARK_SUBMIT_ARGS"])
    former = f"{home.rpartition('-')[0]}-0123456789ab"
    assert of_former_jobs(host, [home, former])["removed"] == [former]
    (package / "needed.txt").write_text("tabulate==0.8.0 --hash=sha256:0\n")
    assert packages_home(host) != home


@pytest.mark.parametrize(
    ("program", "reports"),
    [
        ("from millrace_job import read_topic, run\nrun([])\n", True),
        ("import millrace_job\nmillrace_job.supervise([], stop)\n", True),
        ("from millrace_job import read_topic\nread_topic(a, b, c)\n", False),
        ("run(['ls'])\n", False),
    ],
)
def test_it_is_waited_for_until_it_says_that_it_works_if_it_does(
    package: Path, program: str, reports: bool
) -> None:
    """Otherwise until its process runs, for which systemd makes the directory."""
    (package / "stream.py").write_text(program)
    job = {"name": "clicks", "source": str(package), "module": "clicks.stream"}
    ready_file = states(with_jobs(job))["clicks"]["ready"]["spark-job-clicks"]
    assert ready_file == ("/run/spark-job-clicks/ready" if reports else "/run/spark-job-clicks")


def test_a_job_without_requirements_has_no_packages(package: Path) -> None:
    host = with_jobs({"name": "clicks", "source": str(package)}).spark["m1"]
    assert host.drivers.packages(host.drivers.jobs[0]) is None


def test_its_jars_are_handed_to_spark_and_go_with_it(package: Path) -> None:
    jar = {"name": "driver", "maven": "org.example:driver:1", "sha256": "ab" * 32}
    jobs: list[dict[str, Any]] = [
        {"name": "clicks", "source": str(package), "jars": [jar]},
        {"name": "plain", "source": str(package)},
    ]
    deployment = with_jobs(*jobs, spark_config={"spark.jars": "/srv/a.jar"})
    host = deployment.spark["m1"]
    (plugin,) = host.plugins
    state = states(deployment)["clicks"]
    assert state["plugins"] == [plugin.unpacked]
    assert plugin.where == "spark_jobs[clicks].jars[driver]"
    variables = environment(state["files"]["/etc/spark/job-clicks"]["content"])
    words = shlex.split(variables["PYSPARK_SUBMIT_ARGS"])
    assert f"spark.jars=/srv/a.jar,{plugin.home}/driver/*.jar" in words
    plain = states(deployment)["plain"]
    assert plain["plugins"] == []
    assert "spark.jars" not in plain["files"]["/etc/spark/job-plain"]["content"]
    former = f"{plugin.home.rpartition('-')[0]}-0123456789ab"
    others = ["/opt/millrace/kafka-4.4.0-0123456789ab", f"{plugin.home}/x-0123456789ab"]
    assert of_former_jobs(host, [plugin.home, former, *others])["removed"] == [former]
    assert not deployment.spark["w1"].plugins, "the driver hands them to the executors"


def test_cores_and_memory_are_handed_to_spark(package: Path) -> None:
    source = str(package)
    jobs: list[dict[str, Any]] = [
        {"name": "small", "source": source},
        {"name": "large", "source": source, "cores": 3, "memory": "2g"},
    ]
    environments = {
        name: environment(state["files"][f"/etc/spark/job-{name}"]["content"])
        for name, state in states(with_jobs(*jobs)).items()
    }
    assert "--conf" not in environments["small"]["PYSPARK_SUBMIT_ARGS"]
    words = shlex.split(environments["large"]["PYSPARK_SUBMIT_ARGS"])
    assert words[-1] == "pyspark-shell"
    assert {"spark.cores.max=3", "spark.executor.memory=2g"} <= {*words}


def test_a_service_is_started_and_marked_for_a_restart(package: Path) -> None:
    state = states(with_jobs({"name": "a", "source": str(package)}))["a"]
    assert state["units"] == ["spark-job-a"]
    assert state["restart_marks"] == ["/run/spark-job-a/restart-pending"]


def test_a_timer_is_started_and_its_service_is_not(package: Path) -> None:
    job = {"name": "a", "source": str(package), "schedule": "Mon..Fri\n  06:30\n"}
    state = states(with_jobs(job))["a"]
    assert (state["units"], state["restart_marks"]) == (["spark-job-a.timer"], [])
    assert "OnCalendar=Mon..Fri 06:30\n" in state["files"][f"{UNITS}/spark-job-a.timer"]["content"]
    service = state["files"][f"{UNITS}/spark-job-a.service"]["content"]
    assert "Type=oneshot\n" in service
    assert "Restart=no\n" in service
    assert "StartLimitIntervalSec=0\n" in service, "every minute is more often than a service may"


def test_a_job_for_once_waits_to_be_asked(package: Path) -> None:
    state = states(with_jobs({"name": "a", "source": str(package), "schedule": "once"}))["a"]
    assert (state["units"], state["restart_marks"]) == ([], [])
    assert f"{UNITS}/spark-job-a.timer" not in state["files"]


@needs_systemd
def test_systemd_reads_units_and_arguments_as_they_are_meant(package: Path, tmp_path: Path) -> None:
    words = ["two words", "it's", "100%", "$HOME", "back\\slash", '"', "--to=a;b"]
    job = {"name": "a", "source": str(package), "schedule": "hourly", "arguments": words}
    files = states(with_jobs(job))["a"]["files"]
    units = {
        Path(path).name: entry["content"] for path, entry in files.items() if path.startswith(UNITS)
    }
    service = units["spark-job-a.service"]
    ratings, messages = exposures(tmp_path, {"m1/spark-job-a.service": service})
    assert ratings
    assert not messages
    for name, text in units.items():
        (tmp_path / name).write_text(text.replace("/usr/bin/python3", "/bin/echo"))
    done = analyze("verify", *[tmp_path / name for name in units])
    assert str(tmp_path) not in done.stderr
    (line,) = [setting for setting in service.splitlines() if setting.startswith("ExecStart=")]
    # Python reads the quotes of this line as systemd does, but for what stands after backslashes.
    expanded = line.replace("%%", "%").replace("$$", "$").replace("\\'", "'\"'\"'")
    found_words = [word.replace("\\\\", "\\") for word in shlex.split(expanded)]
    assert found_words[-len(words) :] == words


def test_what_the_inventory_no_longer_has_is_removed(package: Path) -> None:
    source = str(package)
    deployment = with_jobs(
        {"name": "kept", "source": source},
        {"name": "slower", "source": source, "schedule": "service"},
        {"name": "gone", "source": source, "state": "absent", "kafka_user": "gone"},
    )
    installed = [
        "spark-job-kept.service",
        "spark-job-slower.service",
        "spark-job-slower.timer",
        "spark-job-gone.service",
        "spark-job-unknown.service",
        "spark-job-unknown.timer",
    ]
    state = of_former_jobs(deployment.spark["m1"], installed)
    assert state["state"] == "absent"
    assert state["units"] == [
        "spark-job-gone.service",
        "spark-job-slower.timer",
        "spark-job-unknown.service",
        "spark-job-unknown.timer",
    ]
    assert {"/opt/millrace/jobs/gone", "/opt/millrace/jobs/unknown"} <= {*state["removed"]}
    assert "/etc/spark/kafka-login-gone.properties" in state["removed"]
    assert not [path for path in state["removed"] if "kept" in path or "slower" in path]
    assert not [path for path in state["removed"] if path.startswith("/srv")]


def test_a_service_with_another_schedule_is_no_longer_enabled(package: Path) -> None:
    jobs = [
        {"name": name, "source": str(package), "schedule": schedule}
        for name, schedule in {"a": "service", "b": "once", "c": "daily", "new": "once"}.items()
    ]
    installed = ["spark-job-a.service", "spark-job-b.service", "spark-job-c.service"]
    state = of_former_jobs(with_jobs(*jobs).spark["m1"], installed)
    links = [f"multi-user.target.wants/spark-job-{name}.service" for name in ("b", "c")]
    assert (state["units"], state["removed"]) == (links, [])


def test_a_module_that_a_package_has_lost_is_removed(package: Path) -> None:
    host = with_jobs({"name": "a", "source": str(package)}).spark["m1"]
    installed = [
        path for path in of_job(host, host.drivers.jobs[0])["files"] if path.endswith(".py")
    ]
    lost, of_another = "/opt/millrace/jobs/a/clicks/lost.py", "/opt/millrace/jobs/flights/x.py"
    state = of_former_jobs(host, ["spark-job-a.service", *installed, lost, of_another])
    assert (state["units"], state["removed"]) == ([], [lost])


def test_a_host_without_drivers_keeps_no_job(package: Path) -> None:
    deployment = with_jobs({"name": "kept", "source": str(package)})
    state = of_former_jobs(deployment.spark["w1"], ["spark-job-kept.service"])
    assert state["units"] == ["spark-job-kept.service"]


def test_only_jobs_of_the_inventory_are_known_as_such(package: Path) -> None:
    host = with_jobs({"name": "a", "source": str(package)}).spark["m1"]
    (mine,) = host.drivers.jobs
    foreign_job = Job("b", "clicks", str(package))
    path = f"{UNITS}/spark-job-{{}}.service"
    assert "X-Millrace-Job" in of_job(host, mine)["files"][path.format("a")]["content"]
    assert "X-Millrace-Job" not in of_job(host, foreign_job)["files"][path.format("b")]["content"]


@pytest.mark.parametrize(
    ("source", "module", "entries"),
    [
        ("/j/clicks", "clicks.stream", ["clicks/stream.py", "clicks/stream/__main__.py"]),
        ("/j/clicks", "clicks", ["clicks/__main__.py"]),
        ("/j/clicks", "other.stream", []),
        ("/j/clicks", "clicks..stream", []),
        ("/j/one.py", "one", ["one.py"]),
        ("/j/one.py", "two", []),
    ],
)
def test_where_python_looks_for_a_module(source: str, module: str, entries: list[str]) -> None:
    (job,) = of_settings({"spark_jobs": [{"name": "a", "source": source, "module": module}]})
    assert [str(path) for path in job.entries] == [f"/j/{path}" for path in entries]
