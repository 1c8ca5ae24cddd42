"""What docs/develop/spark.md says about Delta's tables, as a member of the group runs it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from testinfra.host import Host

from tests.support.clients import guide
from tests.support.faults.target import FULL, PART_OF_FULL
from tests.support.lab.topology import Topology
from tests.support.wait import wait_for

pytestmark = pytest.mark.skipif(not FULL, reason=PART_OF_FULL)

MEMBER, HOME = "tables", "/home/tables"
TABLE = "rows_of_a_killed_writer"
LONG = f"spark-sql -e 'INSERT INTO {TABLE} SELECT id FROM range(20000000000)'"  # noqa: S608 - names of this test


@pytest.fixture(scope="module")
def worker(topology: Topology, hosts: dict[str, Host]) -> Iterator[Host]:
    """A Spark host on which a member of the group can log in."""
    if not topology.group("spark_metastore"):
        pytest.skip("no catalog here")
    host = hosts[topology.group("spark_workers")[0]]
    add = guide.commands("Access", guide.SPARK)[0].replace("analyst", MEMBER)
    host.check_output(f"useradd --create-home --uid 7204 {MEMBER} && {add}")
    program = "\n".join(guide.blocks("Delta", "python", guide.SPARK))
    host.check_output(f"cat > {HOME}/tables.py <<'END'\n{program}END")
    yield host
    host.run(f"userdel --remove {MEMBER}")


def typed(host: Host, command: str) -> str:
    """What a command prints that the member types."""
    done = host.run(f"su - {MEMBER} -c %s", command)
    assert done.rc == 0, f"{command}\n{done.stdout}{done.stderr}"
    return str(done.stdout)


def test_the_program_of_the_page_runs_to_its_end(worker: Host) -> None:
    """Its assertions are the test."""
    typed(worker, "timeout 900 spark-submit ~/tables.py")


def test_a_killed_writer_leaves_no_half_commit(topology: Topology, worker: Host) -> None:
    typed(worker, f"spark-sql -e 'CREATE TABLE {TABLE} (id BIGINT) USING delta'")
    shared = topology.cluster.spark[topology.group("spark_workers")[0]].shared_dir
    files = f"find {shared}/warehouse/{TABLE} -name '*.parquet' | grep ."
    try:
        worker.check_output(f"su - {MEMBER} -c %s", f"setsid {LONG} > log 2>&1 < /dev/null &")
        wait_for(lambda: worker.run(files).rc == 0, seconds=180, what="files of the writer")
        worker.check_output(f"pkill -KILL -u {MEMBER} java")
        rows = f"INSERT INTO {TABLE} VALUES (1); SELECT count(*), max(id) FROM {TABLE}"  # noqa: S608 - names of this test
        assert typed(worker, f"spark-sql -e '{rows}'").split()[-2:] == ["1", "1"]
    finally:
        worker.run(f"pkill -KILL -u {MEMBER} java")
        typed(worker, f"spark-sql -e 'DROP TABLE {TABLE}'")


def test_writers_at_once_append_both(worker: Host) -> None:
    """Sessions of their own, each with ten versions to write."""
    table = "rows_of_two_writers"
    typed(worker, f"spark-sql -e 'CREATE TABLE {table} (writer INT, id INT) USING delta'")
    try:
        for writer in (1, 2):
            values = [f"VALUES ({writer}, {number})" for number in range(10)]
            inserts = ";".join(f"INSERT INTO {table} {row}" for row in values)
            command = f"(spark-sql -e '{inserts}'; echo $? > rc{writer}) > log{writer} 2>&1"
            command = f"{command} < /dev/null &"
            worker.check_output(f"su - {MEMBER} -c %s", command)
        ended = f"cat {HOME}/rc1 {HOME}/rc2"
        both = f"test -s {HOME}/rc1 -a -s {HOME}/rc2"
        wait_for(lambda: worker.run(both).rc == 0, seconds=400, what="the end of both writers")
        assert worker.check_output(ended).split() == ["0", "0"]
        count = f"SELECT count(*), count(DISTINCT writer, id) FROM {table}"  # noqa: S608 - names of this test
        assert typed(worker, f"spark-sql -e '{count}'").split()[-2:] == ["20", "20"]
    finally:
        typed(worker, f"spark-sql -e 'DROP TABLE {table}'")
