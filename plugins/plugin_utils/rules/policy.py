"""The rules about the policy of versions: known to be bad, accepted with a reason, outdated."""

from __future__ import annotations

from collections.abc import Iterator

from ...module_utils.formats.values import listing
from ...module_utils.formats.versions import PRODUCTS
from ..cluster.cluster import Cluster
from ..cluster.known_bad import Entry, better_versions, open_holes, recorded
from ..cluster.service import Service
from ..services.kafka.node import KafkaNode
from .engine import Finding, Findings, rule
from .shared import falls_back_to_default

_ACCEPTED = "accepted_risks"


def _services(cluster: Cluster) -> Iterator[tuple[str, Service]]:
    """Yield the services whose version is one that can be installed."""
    for host in cluster.hosts:
        for product, service in cluster.services(host).items():
            unknown = falls_back_to_default(cluster, host, f"{product}_version", _ACCEPTED)
            if service.version in PRODUCTS[product].supported and not unknown:
                yield host, service


@rule("known-bad-version", each=_services)
def _known_bad_version(service: Service) -> Findings:
    """Whoever reaches the service may use the hole; that must be a decision, with its reason."""
    if refused := _refused(service):
        problem = f"{_name(service)} is known to be bad: {_listed(refused)}."
        problem += _unusable(service, refused)
        accepted = ", ".join(f"{entry['id']}: <why it is no danger here>" for entry in refused)
        fix = f"{_advice(service)}, or accept it: {_ACCEPTED}: {{{accepted}}}."
        yield Finding(problem, fix, f"{service.product}_version")


@rule("outdated-version", each=_services, severity="warning")
def _outdated_version(service: Service) -> Findings:
    """It gets no fixes any more, or has a hole that was accepted."""
    if _refused(service):
        return  # which says already where to go
    reasons = []
    if PRODUCTS[service.product].supported[service.version].standing == "to upgrade from":
        reasons.append("It is installed only to be upgraded from.")
    holes_by_reason: dict[str, list[Entry]] = {}
    for entry in open_holes(service.product, service.version):
        holes_by_reason.setdefault(accepted_reason(service, entry), []).append(entry)
    reasons += [
        f"{_listed(entries)} accepted: {reason}." for reason, entries in holes_by_reason.items()
    ]
    if reasons:
        problem = f"{_name(service)} is outdated. {' '.join(reasons)}"
        yield Finding(problem, f"{_advice(service)}.", f"{service.product}_version")


def _refused(service: Service) -> list[Entry]:
    """Return the holes that the inventory does not accept."""
    entries = open_holes(service.product, service.version)
    return [entry for entry in entries if not accepted_reason(service, entry)]


def accepted_reason(service: Service, entry: Entry) -> str:
    """Return why the inventory accepts a hole, in one line; empty if it does not, in words."""
    reason = service.settings[_ACCEPTED].get(entry["id"])
    if not isinstance(reason, str) or not any(map(str.isalpha, reason)):
        return ""
    return "".join(filter(str.isprintable, " ".join(reason.split()))).strip().rstrip(".")


def _unusable(service: Service, refused: list[Entry]) -> str:
    """Return what the inventory accepts without effect: no reason in words, no id of the list."""
    accepted = service.settings[_ACCEPTED]
    recorded_ids = {entry["id"] for entry in recorded()}
    unexplained = [entry["id"] for entry in refused if entry["id"] in accepted]
    unknown = [repr(name) for name in accepted if name not in recorded_ids]
    message = (
        f" {_ACCEPTED} gives no reason in words for {listing(unexplained)}." if unexplained else ""
    )
    if unknown:
        message += f" {_ACCEPTED} has {listing(unknown)}, of which nothing is recorded."
    return message


def _name(service: Service) -> str:
    return f"{PRODUCTS[service.product].name} {service.version}"


def _listed(entries: list[Entry]) -> str:
    return listing(f"{entry['id']} ({entry['reason']})" for entry in entries)


def _advice(service: Service) -> str:
    """Return which version to set, and how a cluster gets there."""
    product = service.product
    better = better_versions(product, service.version)
    if not better:
        return f"There is no better version of {PRODUCTS[product].name} yet"
    setting = f"{product}_version: {listing(better, 'or')}"
    if product != "kafka":
        return f"Set {setting}"
    if isinstance(service, KafkaNode) and service.mode == "zookeeper":
        return f"Make a new cluster with the group kafka_controllers and {setting}"
    return f"Set {setting}; a cluster that runs gets it by playbooks/rolling_upgrade.yml"
