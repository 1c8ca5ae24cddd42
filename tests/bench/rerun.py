"""site.yml on a cluster that is as its inventory describes it, beside the baseline's deployment."""

from __future__ import annotations

from tests.bench import baseline
from tests.bench.comparison import Measured, compare
from tests.bench.deploy import deployed
from tests.bench.lab import fresh_hosts, playbook, three_nodes


def again() -> Measured:
    fresh_hosts()
    playbook("playbooks/site.yml")
    return playbook("playbooks/site.yml")


def main(pairs: int) -> None:
    with three_nodes():
        compare("rerun", {"baseline": lambda: deployed(baseline.deploy), "millrace": again}, pairs)
