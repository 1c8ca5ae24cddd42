"""Ansible action: make new keys of hosts, or bring the next phase of a change of the CA."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from ..module_utils.formats.values import listing
from ..plugin_utils import run
from ..plugin_utils.action import LocalAction
from ..plugin_utils.cluster import ca_change, desired
from ..plugin_utils.cluster.cluster import Cluster
from ..plugin_utils.cluster.inventory import Secrets
from ..plugin_utils.cluster.service import Certified
from ..plugin_utils.cluster.transition import Transition
from ..plugin_utils.secrets import authorities
from ..plugin_utils.secrets import store as secrets
from ..plugin_utils.secrets.certificates import CertificateError

CA = "ca"
# Phase -> what a run brings to all hosts.
_BRINGS = {
    ca_change.TRUST: "hosts trust the former and the new CAs; the former ones still sign",
    ca_change.LEAVES: "hosts have certificates of the new CAs, and trust both",
    ca_change.FINISH: "hosts trust the new CAs alone",
    ca_change.WITHDRAW: "hosts trust the former CAs alone again",
}
# Phase -> what must be done before the next run.
_NEXT = {
    ca_change.TRUST: (
        "Give every client the ca.pem that clients.yml writes, which has both CAs. Give people who "
        "use the REST interface of Kafka Connect its connect-ca.pem. Restart clients that read "
        "it at their start. Then run this again with -e rotate=ca; with -e rotate_back=true, too, "
        "to trust the former CA alone again."
    ),
    ca_change.LEAVES: (
        "Give users with authentication: tls certificates of the new CA, whose key is in "
        "ca_next.key unless it is the site's. Give people who use the REST interface of Kafka "
        "Connect its new connect-admin.pem. When no certificate of the former CA is in use, run "
        "this again with -e rotate=ca; with -e rotate_back=true, too, to go back."
    ),
    ca_change.FINISH: "The change is complete; clients.yml now writes the new CA alone.",
    ca_change.WITHDRAW: "The change is undone; clients.yml writes the former CA alone.",
}


class ActionModule(LocalAction):
    """The action; it runs only on the control node."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Make the keys or enter the phase, or record that all hosts have what the run brought."""
        cluster = self.cluster
        # Workers and databases have certificates of a CA of their own.
        of_kafka, of_connect = (
            _certified(cluster, of_connect=connect) for connect in (False, True)
        )
        changes = args["what"] == CA
        if not of_kafka and not of_connect and not (changes and cluster.identities):
            message = (
                "no Kafka node has certificates that Millrace makes (kafka_security is open, or "
                "kafka_config names key stores of the site), nor has another service"
            )
            raise AnsibleActionFail(message)
        if changes:
            return self._change_authorities(args)
        if args["back"]:
            message = "rotate_back goes back in a change of the CA: give -e rotate=ca, too"
            raise AnsibleActionFail(message)
        play_hosts = self.hosts("ansible_play_hosts_all")
        of_kafka, of_connect = (
            [host for host in hosts if host in play_hosts] for hosts in (of_kafka, of_connect)
        )
        if not of_kafka and not of_connect:
            message = "none of the hosts of --limit has certificates that Millrace makes"
            raise AnsibleActionFail(message)
        return self._renew_keys(args, of_kafka, of_connect)

    def _renew_keys(
        self, args: dict[str, Any], of_kafka: list[str], others: list[str]
    ) -> dict[str, Any]:
        """Make new keys, of hosts with certificates of Kafka's CA and of others.

        An outside CA may have to sign the former; the latter are new at once.
        """
        former = self.cluster.inventory.secrets
        self._refuse_keys()
        if args["complete"]:
            return {"changed": False, "msg": self._in_use(others)}
        hosts = list(dict.fromkeys([*of_kafka, *others]))
        self.cluster = run.renew(self.variables, {}, secrets=self._complete(renewed=hosts))
        given_authority = secrets.given_authority(self.cluster)
        outside = given_authority is not None and not given_authority.key
        made = {"New keys": others if outside else hosts}
        if outside:
            made["Requests for new keys"] = of_kafka
        lines = [f"{title} of {listing(names)}." for title, names in made.items() if names]
        changed = self.cluster.inventory.secrets != former
        return {"changed": changed, "msg": self._with_waiting(*lines)}

    def _in_use(self, others: list[str]) -> str:
        if self._task.check_mode:
            return self._with_waiting("Nothing was changed.")
        if not secrets.waiting_requests(self.cluster):
            return "The new keys are in use."
        done = [f"The new keys of {listing(others)} are in use."] if others else []
        return self._with_waiting(*done)

    def _with_waiting(self, *lines: str) -> str:
        return "\n".join(filter(None, [*lines, secrets.waiting_requests(self.cluster)]))

    def _refuse_keys(self) -> None:
        """Refuse new keys while the CA changes, and without a CA.

        Raises:
            AnsibleActionFail: says what to do instead.

        """
        stored = self.cluster.inventory.secrets
        if not stored.certificates:
            message = (
                f"{stored.directory} has no certificates yet, so there is nothing to replace: "
            )
            message += "run site.yml"
            raise AnsibleActionFail(message)
        if change := self._change():
            message = (
                f"the CA is being changed (phase {change.phase}), which brings new keys, too: "
                "go on with -e rotate=ca"
            )
            raise AnsibleActionFail(message)

    def _change_authorities(self, args: dict[str, Any]) -> dict[str, Any]:
        """Enter a phase of the change, or complete it."""
        before = self._change()
        chosen = [file for name in args["authorities"] for file in ca_change.CHOICES[name]]
        names = ca_change.changed(before) or chosen or [*ca_change.authorities(Secrets())]
        concerned = [host for host in self.cluster.hosts if _holds(self.cluster, host, names)]
        if args["complete"]:
            self.refuse_part(concerned)
            return self._end_phase()
        self.refuse_part(concerned, "ansible_play_hosts_all")
        given_authority = secrets.given_authority(self.cluster)
        cluster_id = next((node.cluster_id for node in self.cluster.kafka.values()), "")
        completed = self._complete(
            step=lambda stored: authorities.enter(
                stored, given_authority, cluster_id, back=args["back"], chosen=chosen
            )
        )
        self.cluster = run.renew(self.variables, {}, secrets=completed)
        phase = change.phase if (change := self._change()) else ""
        verb = "repeats" if before and before.phase == phase else "brings"
        return {
            "changed": before != change,
            "phase": phase,
            "msg": f"This run {verb} the phase {phase} of the change of "
            f"{listing(ca_change.changed(change))}: {_BRINGS[phase]}.",
        }

    def _end_phase(self) -> dict[str, Any]:
        stored = self.cluster.inventory.secrets
        directory, cipher = Path(stored.directory), stored.cipher
        if self._task.check_mode:
            return {"changed": False, "msg": "Nothing was changed."}
        try:
            with secrets.lock(directory, store=True, cipher=cipher):
                change = authorities.end_phase(secrets.read(directory, cipher), self._change())
        except (OSError, CertificateError) as error:
            message = f"the change of the CA in {directory} cannot be recorded: {error}"
            raise AnsibleActionFail(message) from error
        self.cluster = run.renew(self.variables, {}, secrets=secrets.read(directory, cipher))
        return {"changed": True, "phase": change.phase, "msg": _NEXT[change.phase]}

    def _change(self) -> Transition | None:
        try:
            return ca_change.current(self.cluster.inventory.secrets)
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from error

    def _complete(
        self, *, step: secrets.Step | None = None, renewed: Collection[str] = ()
    ) -> Secrets:
        given_authority = secrets.given_authority(self.cluster)
        store = not self._task.check_mode
        return secrets.complete(
            self.cluster, given_authority, store=store, step=step, renewed=renewed
        )


def _holds(cluster: Cluster, host: str, names: Collection[str]) -> bool:
    """Return whether a host trusts one of some CAs, or shows a certificate of it."""
    return bool(desired.authority_files(cluster, host, names))


def _certified(cluster: Cluster, *, of_connect: bool) -> list[str]:
    """Return the hosts with certificates of the CA of Kafka Connect, or of that of Kafka."""
    items = [item for services in cluster.by_product.values() for item in services.items()]
    shown = [
        (host, service)
        for host, service in items
        if isinstance(service, Certified) and service.certificates
    ]
    return list(dict.fromkeys(host for host, service in shown if service.of_connect == of_connect))
