"""Spark as its users know it: the commands of docs/develop/spark.md, as members of the group type them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import pytest
from testinfra.host import Host

from tests.support.clients import guide
from tests.support.faults.target import FULL, PART_OF_FULL, skip_unless_full
from tests.support.lab.topology import Topology
from tests.support.services.spark import get
from tests.support.wait import wait_for

MEMBERS, STRANGER = {"analyst": 7201, "partner": 7202}, "guest"
HOME = "/home/analyst"
INTERACTIVE = {"pyspark": "exit()", "spark-shell": ":quit"}
SUM = 'spark.range(1000).selectExpr("sum(id)").show()'


@pytest.fixture(scope="module")
def login(topology: Topology, hosts: dict[str, Host]) -> Iterator[dict[str, Host]]:
    """The Spark hosts, where two members of the group and a stranger can log in."""
    spark_hosts = {name: hosts[name] for name in topology.cluster.spark}
    if not spark_hosts:
        pytest.skip("no Spark here")
    add, join = guide.commands("Access", guide.SPARK)[0], "useradd --create-home --uid"
    job = guide.blocks("Commands", "python", guide.SPARK)[0]
    try:
        for host in spark_hosts.values():
            for member, number in MEMBERS.items():
                host.check_output(f"{join} {number} {member} && {add.replace('analyst', member)}")
            host.check_output(f"{join} 7203 {STRANGER}")
            host.check_output(f"cat > {HOME}/words.py <<'END'\n{job}END")
        yield spark_hosts
    finally:
        for host in spark_hosts.values():
            for account in (*MEMBERS, STRANGER):
                host.run(f"userdel --remove {account}")


def typed(host: Host, account: str, command: str) -> str:
    """What a command prints that an account types after it has logged in."""
    done = host.run(f"su - {account} -c %s", f"cd {HOME} 2> /dev/null; {command}")
    assert done.rc == 0, f"{command}\n{done.stdout}{done.stderr}"
    return str(done.stdout)


def statements() -> list[str]:
    """The statements of the section about tables."""
    commands = map(shlex.split, guide.commands("Tables", guide.SPARK))
    return [words[words.index("-e") + 1] for words in commands]


def test_a_program_runs_under_the_account_that_submits_it(
    topology: Topology, login: dict[str, Host]
) -> None:
    """On any Spark host, with the cluster's properties; and it gets into the history."""
    if not topology.group("spark_history"):
        pytest.skip("no history server here")
    worker = login[topology.group("spark_workers")[0]]
    [command] = [line for line in guide.commands("Commands", guide.SPARK) if "words.py" in line]
    assert "to|    2|" in typed(worker, "analyst", command)
    history = topology.group("spark_history")[0]
    port = topology.cluster.spark[history].ports["spark_history_port"]
    url = f"http://{topology.addresses[history]}:{port}/api/v1/applications"
    wait_for(
        lambda: (
            "analyst"
            in {
                attempt["sparkUser"]
                for app in get(url, topology.spark_token)
                for attempt in app["attempts"]
                if app["name"] == "words" and attempt["completed"]
            }
        ),
        seconds=60,
        what="the application of analyst in the history",
    )


def test_members_share_tables_between_hosts(topology: Topology, login: dict[str, Host]) -> None:
    """What one makes another reads and changes, elsewhere: a catalog, and files open to both."""
    skip_unless_full()
    if not topology.group("spark_metastore"):
        pytest.skip("no catalog here")
    hosts = [login[name] for name in topology.group("spark_workers")]
    create, insert, merge, *remaining = statements()
    typed(hosts[0], "analyst", f"spark-sql -e {shlex.quote(f'{create};{insert}')}")
    output = typed(
        hosts[-1], "partner", f"spark-sql -e {shlex.quote(';'.join([merge, *remaining]))}"
    )
    rows = output.split()
    assert rows[-5:-1] == ["2013-01-01", "842", "2013-01-02", "944"]
    assert rows[-1] == "2"


def test_others_are_refused_with_what_to_do(login: dict[str, Host]) -> None:
    for host in login.values():
        done = host.run(f"su - {STRANGER} -c 'spark-sql -e \"SELECT 1\"'")
        assert done.rc == 77
        assert "spark-users" in done.stderr


def test_the_catalog_opens_with_its_password_alone(
    topology: Topology, login: dict[str, Host]
) -> None:
    spark = next(iter(topology.cluster.spark.values()))
    if not spark.standalone.metastore_addresses or not spark.is_secured:
        pytest.skip("no catalog here, or an open one")
    host = login[topology.group("spark_workers")[0]]
    url = f"jdbc:derby://{spark.standalone.metastore_addresses[0]}/metastore;ssl=basic"
    tool = (
        f"{spark.host.java.binary} -cp '{spark.distribution.link}/jars/*' org.apache.derby.tools.ij"
    )
    words = "".join(f"connect '{url}{user}';" for user in ("", ";user=spark;password=guessed"))
    assert host.run(f'echo "{words}" | {tool}').stdout.count("ERROR 08004") == 2


@pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
@pytest.mark.parametrize("command", guide.commands("Commands", guide.SPARK))
def test_each_command_works_as_it_is_shown(
    topology: Topology, login: dict[str, Host], command: str
) -> None:
    host = login[topology.group("spark_masters")[0]]
    if command in INTERACTIVE:  # which want a terminal
        typed_in = f"printf '{SUM}\\n{INTERACTIVE[command]}\\n'"
        command = f"{typed_in} | script --quiet --command {command} /dev/null"
        assert "499500" in typed(host, "analyst", command)
    else:
        assert typed(host, "analyst", command)
