"""Ansible action: write a support bundle of a cluster, without secrets."""

import os
import platform
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible import release
from ansible.errors import AnsibleActionFail

from ..module_utils.host.paths import at
from ..plugin_utils import ansible_internals
from ..plugin_utils.action import LocalAction
from ..plugin_utils.cluster.cluster import Cluster
from ..plugin_utils.cluster.files import parse_yaml, read
from ..plugin_utils.inventory import hidden
from ..plugin_utils.inventory.clear_text import Files
from ..plugin_utils.inventory.reading import plain
from ..plugin_utils.operations import redaction, report, support
from ..plugin_utils.operations.redaction import Redaction
from ..plugin_utils.secrets.secret_files import SecretFiles
from ..plugin_utils.services.console.report_page import page


class ActionModule(LocalAction):
    """The action; it runs only on the control node."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Check the options, and write the bundle if there are results."""
        path = Path(args["path"]).absolute()
        try:
            support.window_seconds(args["window"])
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from error
        refuse_place(path)
        cluster = self.cluster  # which refuses an inventory that was read in part
        if not args["hosts"]:
            return {"changed": False}
        hosts = self._registered(args["hosts"])
        parts = self._registered(args["parts"])
        bundle = support.Bundle(Redaction(self._secrets()))
        if silence := support.silence(hosts):
            raise AnsibleActionFail(bundle.redaction.text(silence))
        files, problems = _files(cluster, bundle, args["window"], hosts, parts)
        content = support.archive(path.name.partition(".")[0] or "support", files, time.time())
        try:
            with at(path, follow=True) as place:
                place.write(content, 0o600)
        except OSError as error:
            message = f"the bundle cannot be written: {error}"
            raise AnsibleActionFail(message) from error
        return {
            "changed": False,
            "path": str(path),
            "size": len(content),
            "problems": problems,
        }

    def _registered(self, name: str) -> dict[str, dict[str, Any]]:
        hostvars = self.variables["hostvars"]
        answers = {host: hostvars[host].get(name) for host in self.cluster.hosts}
        return {host: plain(value) for host, value in answers.items() if value}

    def _secrets(self) -> Iterator[str]:
        """Yield all secrets that this machine knows."""
        inventory, hostvars = self.cluster.inventory, self.variables["hostvars"]
        yield from redaction.of_store(inventory.secrets)
        files = SecretFiles(Path(inventory.secrets.directory), inventory.secrets.cipher)
        # The keys of CAs, and those that wait for a certificate of the site's CA.
        if inventory.secrets.directory and files.directory.is_dir():
            for path in files.directory.rglob("*.key"):
                yield from redaction.of_file(files.read(str(path.relative_to(files.directory))))
        loader = ansible_internals.loader_of(hostvars)
        for _, password in ansible_internals.vault_of(loader).passwords:
            yield password.decode(errors="replace").strip()
        loaded = Files(loader)
        for host, written in inventory.hosts.items():
            yield from redaction.of_variables(written.variables)
            yield from hidden.values(hostvars, host, loaded)


def _files(
    cluster: Cluster,
    bundle: support.Bundle,
    window: str,
    hosts: Mapping[str, report.Result],
    parts: Mapping[str, report.Result],
) -> tuple[dict[str, str], list[str]]:
    """Return the files of the bundle without secrets, and what is wrong or was not read."""
    states = {host: support.state_of(result) for host, result in hosts.items()}
    snapshot = bundle.redaction.value(report.snapshot(cluster, states, parts, time.time()))
    support.add_cluster(bundle, cluster, snapshot, page(snapshot))
    paths = support.add_hosts(bundle, hosts)
    unread = [
        f"{host}: its journals and files were not read: {result.get('msg')}"
        for host, result in hosts.items()
        if "report" in result and "pieces" not in result
    ]
    problems = bundle.redaction.value([*report.problems(snapshot), *unread])
    head = support.Head(str(snapshot["name"]), time.time(), window, versions())
    contents = support.index(bundle, head, snapshot, problems, paths)
    return {"index.html": bundle.redaction.known(contents), **bundle.files}, problems


def refuse_place(path: Path) -> None:
    """Refuse a file that cannot be written, before any host is asked.

    Raises:
        AnsibleActionFail: says why, and what to set.

    """
    folder = path.parent
    if path.is_dir():
        reason = f"{path} is a directory"
    elif not folder.is_dir():
        reason = f"{folder} is no directory"
    elif not os.access(folder, os.W_OK | os.X_OK):
        reason = f"{folder} cannot be written"
    else:
        return
    message = (
        f"the bundle cannot be written, since {reason}: set support_path to a file in a directory "
        "that you can write"
    )
    raise AnsibleActionFail(message)


def versions() -> dict[str, str]:
    """Return the versions of what runs on the control node."""
    try:
        millrace = str(parse_yaml(read("galaxy.yml"))["version"])
    except OSError:  # a built collection has another file in its place
        millrace = str(parse_yaml(read("MANIFEST.json"))["collection_info"]["version"])
    return {
        "Millrace": millrace,
        "ansible-core": release.__version__,
        "Python": platform.python_version(),
    }
