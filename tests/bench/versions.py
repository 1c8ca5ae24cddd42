"""The default release of Kafka beside the one before it, both deployed by Millrace.

Each measurement has a cluster of its own: its deployment until the first record, site.yml again,
one static property under a producer's load, and Kafka's own producer afterwards.
"""

from __future__ import annotations

from functools import partial

import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.formats.versions import (
    KAFKA,
    release_numbers,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.files import properties
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import OPEN

from tests.bench.comparison import Measured, in_turn, ratios, save, show, spread
from tests.bench.deploy import deployed
from tests.bench.lab import INVENTORY, choose, playbook, three_nodes
from tests.bench.load import create_topic
from tests.bench.roll import CHANGE, under_load
from tests.bench.throughput import TOPIC, on_host, sent
from tests.support.lab.topology import ROOT, describe

FIGURES = {
    "deploy": "the first record after",
    "rerun": "site.yml again",
    "roll": "one property under load",
    "send": "Kafka's own producer",
}
"""Name of each figure, all of them seconds -> what it is."""


def before(version: str) -> str:
    """Return the newest release of an earlier line than a version's."""
    line = release_numbers(version)[:2]
    earlier = (release for release in KAFKA.supported if release_numbers(release)[:2] < line)
    return max(earlier, key=release_numbers)


def measured(version: str) -> Measured:
    """Deploy a release on fresh hosts, and measure it; all in seconds, the gap too."""
    choose(kafka_version=version)
    first = deployed(lambda _: playbook("playbooks/site.yml"))["seconds"]
    again = playbook("playbooks/site.yml")["seconds"]
    topology = describe(INVENTORY)
    roll = under_load(topology, lambda _: playbook("playbooks/site.yml", "-e", CHANGE))
    create_topic(topology.connection, TOPIC)
    client = properties({"bootstrap.servers": ",".join(topology.brokers.values())})
    on_host(topology, f"cat > ~/{OPEN}.properties <<'END'\n{client}\nEND\n")
    sent(topology, OPEN)  # not measured: it warms the brokers
    return {
        "deploy": first,
        "rerun": again,
        "roll": roll["seconds"],
        "gap": roll["gap"],
        "errors": roll["errors"],
        "send": sent(topology, OPEN)["seconds"],
    }


def main(pairs: int) -> None:
    """Compare the two releases, the earlier one being the baseline."""
    releases = (before(KAFKA.default), KAFKA.default)
    kinds = {release: partial(measured, release) for release in releases}
    upgrade = yaml.safe_load((ROOT / "inventories/upgrade/group_vars/all.yml").read_text())
    with three_nodes():
        choose(accepted_risks=upgrade["accepted_risks"])
        rounds = in_turn("versions", kinds, pairs)
    baseline, default = kinds
    compared = {name: ratios(rounds, default, baseline, name) for name in FIGURES}
    save("versions", {"pairs": rounds, "ratios": compared})
    for name, figures in compared.items():
        show(f"versions: {name}, {FIGURES[name]}", spread(figures))
