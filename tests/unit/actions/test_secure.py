"""A running open cluster becomes closed, phase by phase, and goes back; no host is involved.

What a phase makes of the nodes is what the model writes for them.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    parse_properties,
)
from ansible_collections.millrace.streaming.plugins.modules.kafka_listeners import listeners
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.catalogue import RULES
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.engine import check_cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.store import (
    DIRECTORY,
    read,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.client_formats import (
    client_files,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.node import (
    SERVER_PROPERTIES,
    KafkaNode,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    PRESETS,
)

from tests.unit.in_process import AnsibleRun, Answer

pytestmark = pytest.mark.usefixtures("local_tmp")
GROUPS = {
    "combined": {"kafka_controllers": ["k1", "k2"], "kafka_brokers": ["k1", "k2"]},
    "dedicated": {"kafka_controllers": ["c1"], "kafka_brokers": ["k1", "k2"]},
    "zookeeper": {"zookeeper": ["z1"], "kafka_brokers": ["k1", "k2"]},
}
RECORD = ".secrets/security_change.json"
CONFLICT = [
    {"name": "CLIENT", "port": 9095, "protocol": "SASL_SSL"},
    {"name": "INTERNAL", "port": 9094, "protocol": "SSL"},
]


class Site:
    """An inventory, and what its nodes are configured with."""

    def __init__(self, place: Path, shape: str = "combined") -> None:
        self.place, self.shape = place, shape
        self.peers: dict[str, list[str]] = {}
        self.write(kafka_security="open")
        self.ansible = AnsibleRun(place / "hosts.yml")
        self.texts: dict[str, str] = {}
        self.deploy()

    def write(self, **variables: Any) -> None:
        groups = GROUPS[self.shape]
        hosts = sorted({name for names in groups.values() for name in names})
        ids = {name: {"kafka_node_id": at, "zookeeper_id": 1} for at, name in enumerate(hosts, 1)}
        version = {"kafka_version": "3.9.2"} if self.shape == "zookeeper" else {}
        members: dict[str, Any] = {
            group: {"hosts": {name: ids[name] for name in names}} for group, names in groups.items()
        }
        document = {"all": {"vars": {**version, **variables}}, **members}
        (self.place / "hosts.yml").write_text(yaml.safe_dump(document))

    def nodes(self) -> dict[str, KafkaNode]:
        return dict(self.ansible.cluster("k1").kafka)

    def deploy(self) -> None:
        """Give each node what the model writes for it."""
        self.ansible = self.ansible.next_run()
        self.texts = {
            name: node.files()[SERVER_PROPERTIES]["content"] for name, node in self.nodes().items()
        }

    def choose(self, *, check: bool = False, without: str = "", **options: Any) -> Answer:
        self.ansible = self.ansible.next_run()
        running = {
            name: {"listeners": listeners(text), "peers": self.peers}
            for name, text in self.texts.items()
            if name != without
        }
        play = {"ansible_play_hosts": list(running)}
        return self.ansible.task("secure", "k1", check=check, play=play, running=running, **options)

    def phase(self, **options: Any) -> str:
        """Go to the next phase with all nodes, and return it."""
        result = self.choose(**options)
        self.deploy()
        self.complete()
        return str(result["phase"])

    def complete(self) -> Answer:
        self.ansible = self.ansible.next_run()
        play = {"ansible_play_hosts": list(self.texts)}
        return self.ansible.task("secure", "k1", play=play, complete=True)

    def config(self, name: str = "k1") -> dict[str, str]:
        return parse_properties(self.texts[name])


@pytest.fixture(params=GROUPS)
def site(tmp_path: Path, request: pytest.FixtureRequest) -> Site:
    deployment = Site(tmp_path, request.param)
    deployment.write(kafka_security="standard")
    return deployment


@pytest.fixture
def combined(tmp_path: Path) -> Site:
    deployment = Site(tmp_path)
    deployment.write(kafka_security="standard")
    return deployment


def known(text: str) -> dict[str, tuple[int, str]]:
    """Name -> port and protocol of each listener of a node."""
    nodes: dict[str, Any] = listeners(text)
    return {
        listener["name"]: (listener["port"], listener["protocol"])
        for listener in nodes["brokers"] + nodes["controllers"]
    }


def used(text: str) -> list[str]:
    """The names by which a node connects to brokers and controllers."""
    config = parse_properties(text)
    names = [config.get("inter.broker.listener.name", "")]
    return [
        name for name in (*names, config.get("controller.listener.names", "").split(",")[0]) if name
    ]


def test_nodes_of_two_phases_can_always_talk_to_each_other(site: Site) -> None:
    """In both directions a node finds the listener that it uses on those of the other phase."""
    seen = [dict(site.texts)]
    for expected in ("added", "moved", "ended"):
        assert site.phase() == expected
        seen.append(dict(site.texts))
    for before, after in itertools.pairwise(seen):
        for connecting, accepting in ((before, after), (after, before)):
            offered = {
                k: listener for text in accepting.values() for k, listener in known(text).items()
            }
            mine = {
                k: listener for text in connecting.values() for k, listener in known(text).items()
            }
            names = {name for text in connecting.values() for name in used(text)}
            assert {name: offered.get(name) for name in names} == {
                name: mine[name] for name in names
            }
    assert seen[0] != seen[1] != seen[2] != seen[3]
    assert all(protocol in ("SSL", "SASL_SSL") for _, protocol in known(site.texts["k1"]).values())
    assert site.phase() == "ended"


def test_the_quorum_is_asked_where_the_nodes_use_it(combined: Site) -> None:
    key = "controller.quorum.bootstrap.servers"
    ports = {}
    for name in ("added", "moved"):
        combined.phase()
        ports[name] = combined.config()[key].split(":")[1][:4]
    assert ports == {"added": "9093", "moved": "9096"}


def test_open_clients_are_served_until_the_last_phase(site: Site) -> None:
    for expected in (True, True, False):
        site.phase()
        assert ("User:ANONYMOUS" in site.config()["super.users"]) == expected
        assert ("CLIENT" in known(site.texts["k1"])) == expected


def test_clients_log_in_when_all_nodes_have_the_listener(combined: Site) -> None:
    """The load of a run that adds it still connects as before."""

    def protocol() -> str:
        config = combined.nodes()["k1"].clients.local_config("ledger")
        assert client_files(config)
        return str(config["security.protocol"])

    combined.choose()
    combined.deploy()
    user = combined.nodes()["k1"].security.users_without_password[0]
    passwords = combined.place / ".secrets/passwords"
    passwords.mkdir()
    for name in ("admin", "ledger", user.name):
        (passwords / name).write_text("secret")
    combined.deploy()
    assert protocol() == "PLAINTEXT"
    combined.complete()
    combined.deploy()
    assert protocol() == "SASL_SSL"


def test_an_interrupted_phase_is_repeated(combined: Site) -> None:
    before = dict(combined.texts)
    assert combined.choose()["phase"] == "added"
    combined.deploy()
    # One node has not got its files.
    combined.texts["k2"] = before["k2"]
    assert combined.phase() == "added"
    assert combined.phase() == "moved"


def test_hosts_can_record_the_secrets_after_each_step(combined: Site) -> None:
    """The last play of secure.yml writes the generation that the run has."""
    for step in (combined.choose, combined.complete) * 3:
        step()
        recorded = combined.ansible.cluster("k1").inventory.secrets
        assert recorded.store == read(combined.place / DIRECTORY).store
        combined.deploy()


def test_an_interrupted_end_is_taken_up(combined: Site) -> None:
    combined.phase()
    combined.phase()
    still = dict(combined.texts)
    combined.choose()
    combined.texts = still
    assert combined.phase() == "ended"
    assert "CLIENT" not in known(combined.texts["k1"])


def test_each_phase_can_be_taken_back(combined: Site) -> None:
    first = dict(combined.texts)
    combined.phase()
    added = dict(combined.texts)
    combined.phase()
    assert combined.phase(back=True) == "added"
    assert combined.texts == added
    assert combined.choose(back=True)["phase"] == "former"
    combined.deploy()
    assert {n: known(node_text) for n, node_text in combined.texts.items()} == {
        n: known(node_text) for n, node_text in first.items()
    }
    assert "authorizer.class.name" not in combined.config()
    combined.complete()
    assert combined.nodes()["k1"].listeners.change is None
    # The inventory says again what the nodes have.
    combined.write(kafka_security="open")
    combined.deploy()
    assert combined.texts == first
    combined.write(kafka_security="standard")
    assert combined.phase() == "added"


def test_no_phase_makes_an_inventory_wrong(combined: Site) -> None:
    """What is there for the closed cluster, such as users, waits in a phase without it."""
    listeners = [
        {"name": "PARTNERS", "port": 9097, "protocol": "SSL"},
        *PRESETS["standard"].listeners,
    ]
    users = [{"name": "app"}, {"name": "p", "authentication": "tls"}]
    config = {"listener.name.partners.ssl.cipher.suites": "TLS_AES_256_GCM_SHA384"}
    configured = {"kafka_listeners": listeners, "kafka_users": users, "kafka_config": config}
    combined.write(kafka_security="standard", **configured)

    def refused_by() -> set[str]:
        return {problem.rule for problem in check_cluster(RULES, combined.ansible.cluster("k1"))}

    before = refused_by()
    for back in (False, False, True, True):
        combined.choose(back=back)
        combined.deploy()
        assert refused_by() <= before, combined.config()
        combined.complete()


def test_an_interrupted_way_back_goes_back_no_further(combined: Site) -> None:
    """Whether nodes have their files already or not; and forward it is completed too."""
    combined.phase()
    combined.phase()
    moved = dict(combined.texts)
    for deployed in (False, True):
        assert combined.choose(back=True)["phase"] == "added"
        if deployed:
            combined.deploy()
    assert combined.phase() == "added"
    assert combined.phase() == "moved"
    assert combined.texts == moved


def test_a_change_of_the_controllers_listener_alone_comes_to_its_end(combined: Site) -> None:
    combined.phase()
    combined.phase()
    combined.phase()
    plain = {"name": "CONTROLLER", "port": 9093, "protocol": "PLAINTEXT"}
    combined.write(kafka_security="standard", kafka_controller_listener=plain)
    combined.deploy()
    combined.write(kafka_security="standard")
    assert [combined.phase() for _ in range(4)] == ["added", "moved", "ended", "ended"]
    assert "CONTROLLER" not in known(combined.texts["k1"])


def test_a_cluster_that_is_not_deployed_is_left_to_site(combined: Site) -> None:
    combined.texts = dict.fromkeys(combined.texts, "")
    with pytest.raises(AnsibleError, match=r"site\.yml"):
        combined.choose()


def test_an_interrupted_write_of_files_is_repeated(tmp_path: Path) -> None:
    """Also where controllers have theirs and brokers do not, and at the end."""
    site = Site(tmp_path, "dedicated")
    site.write(kafka_security="standard")
    for expected in ("added", "moved", "ended"):
        before = dict(site.texts)
        assert site.choose()["phase"] == expected
        site.deploy()
        site.texts = {**site.texts, **{name: before[name] for name in ("k1", "k2")}}
        assert site.phase() == expected


def test_ports_that_are_being_closed_are_governed_until_the_end(combined: Site) -> None:
    def governed() -> set[int]:
        return {port.port for port in combined.ansible.cluster("k1").listening("k1")}

    combined.phase()
    combined.phase()
    combined.choose()
    combined.deploy()
    assert {9092, 9093} <= governed()
    combined.complete()
    combined.deploy()
    assert not {9092, 9093} & governed()


def test_nothing_is_taken_back_that_was_not_begun(combined: Site) -> None:
    with pytest.raises(AnsibleError, match="no change"):
        combined.choose(back=True)


def test_a_change_that_was_undone_by_an_open_inventory_begins_again(combined: Site) -> None:
    combined.phase()
    combined.write(kafka_security="open")
    combined.deploy()
    combined.write(kafka_security="standard")
    assert combined.phase() == "added"


def test_listeners_with_clients_stay(combined: Site) -> None:
    combined.phase()
    combined.phase()
    combined.peers = {"9092": ["10.0.0.9"]}
    with pytest.raises(AnsibleError, match=r"CLIENT by 10\.0\.0\.9"):
        combined.choose()
    assert (combined.place / RECORD).exists()
    assert combined.phase(disconnect=True) == "ended"


def test_a_listener_in_the_way_is_named(combined: Site) -> None:
    combined.write(kafka_security="standard", kafka_listeners=CONFLICT)
    with pytest.raises(AnsibleError, match=r"CLIENT://:9095 .*CLIENT://:9092"):
        combined.choose()
    assert not (combined.place / RECORD).exists()


def test_nodes_that_differ_are_named(combined: Site) -> None:
    combined.texts["k2"] = combined.texts["k2"].replace("9092", "9192")
    with pytest.raises(AnsibleError, match="9192"):
        combined.choose()


def test_a_part_of_the_nodes_is_refused(combined: Site) -> None:
    with pytest.raises(AnsibleError, match="k2"):
        combined.choose(without="k2")


def test_an_open_inventory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AnsibleError, match="kafka_security: standard"):
        Site(tmp_path).choose()


def test_check_mode_shows_the_phase_and_stores_nothing(combined: Site) -> None:
    assert combined.choose(check=True)["phase"] == "added"
    change = combined.nodes()["k1"].listeners.change
    assert change
    assert change.phase == "added"
    assert not (combined.place / RECORD).exists()


def test_a_damaged_record_is_named(combined: Site) -> None:
    combined.phase()
    (combined.place / RECORD).write_text("{")
    with pytest.raises(AnsibleError, match="security_change"):
        combined.choose()
