"""Ansible action: hand requests to an outside CA, and take in the certificates that it has signed."""

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from ..module_utils.formats.values import is_address, sequence
from ..module_utils.host.files import write_own
from ..plugin_utils import run
from ..plugin_utils.action import LocalAction
from ..plugin_utils.cluster import ca_change
from ..plugin_utils.cluster.inventory import Secrets
from ..plugin_utils.rules.engine import counted
from ..plugin_utils.secrets import signed_certificates
from ..plugin_utils.secrets import store as secrets
from ..plugin_utils.secrets.authorities import CERTIFICATE
from ..plugin_utils.secrets.certificates import public_key, purposes
from ..plugin_utils.secrets.signed_certificates import Answers
from ..plugin_utils.secrets.signing_requests import OutsideAuthority
from ..plugin_utils.services.kafka.security import Certificate

TABLE = "requests.json"
_PUBLIC = 0o644
_NO_AUTHORITY = (
    "no outside CA signs certificates of this cluster: set kafka_ca_certificate, and not "
    "kafka_ca_key. Nothing was changed."
)
_CHANGE = (
    "Kafka's CA is being changed, and the new one signs with its key: complete the change with "
    "rotate_certificates.yml -e rotate=ca. Nothing was changed."
)


class ActionModule(LocalAction):
    """The action; it runs only on the control node."""

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Make the requests that are due, and write them, or take in what has been signed."""
        authority, before = secrets.given_authority(self.cluster), self.cluster.inventory.secrets
        if authority is None or authority.key:
            raise AnsibleActionFail(_NO_AUTHORITY)
        change = ca_change.current(before)
        if change and CERTIFICATE in ca_change.changed(change):
            raise AnsibleActionFail(_CHANGE)
        folder = Path(args["path"]).absolute()
        if folder.resolve().is_relative_to(Path(before.directory).resolve()):
            message = (
                f"path is {folder}, in the directory of the secrets: set another one. "
                "Nothing was changed."
            )
            raise AnsibleActionFail(message)
        answers = Answers()
        if args["signed"]:
            answers = signed_certificates.read(Path(args["signed"]).absolute())
        store = not self._task.check_mode
        completed, outside = secrets.exchange(self.cluster, authority, answers, store=store)
        if outside is None:
            message = "no listener or web server of this cluster has a certificate of its CA"
            raise AnsibleActionFail(message)
        changed = completed != before or bool(outside.new or outside.removed)
        if changed:
            self.cluster = run.renew(self.variables, {}, secrets=completed)
        table = [_row(certificate) for certificate in outside.pending]
        table.sort(key=lambda row: (row["host"], row["kind"]))
        result = {"changed": changed, "requests": table}
        if args["signed"]:
            return {**result, **self._taken(completed, outside, args["signed"])}
        texts = {_file(certificate): made for certificate, made in outside.pending.items()}
        return {**result, **self._handed_over(folder, table, texts, changed=changed)}

    def _handed_over(
        self, folder: Path, table: list[dict[str, Any]], texts: dict[str, str], *, changed: bool
    ) -> dict[str, Any]:
        """Write the requests that wait into a directory, and remove those that wait no longer."""
        contents = {**texts, TABLE: f"{json.dumps(table, indent=2)}\n"}
        try:
            former = [folder / name for name in _former(folder) - contents.keys()]
            new = {
                folder / name: text
                for name, text in contents.items()
                if _present(folder / name) != text
            }
            if not self._task.check_mode:
                for path in former:
                    path.unlink()
                for path, text in new.items():  # the table is the last one
                    write_own(path, text, _PUBLIC)
        except OSError as error:
            message = f"the requests cannot be written: {error}. Set path to another directory"
            raise AnsibleActionFail(message) from error
        lines = [f"{counted(len(table), 'request', 'requests')} for the CA to sign, in {folder}:"]
        lines += [f"- {row['file']}: {_described(row)}" for row in table]
        if not table:
            lines = [f"No certificate has to be signed; {folder / TABLE} is an empty list."]
        return {"changed": changed or bool(new or former), "msg": "\n".join(lines)}

    def _taken(self, completed: Secrets, outside: OutsideAuthority, source: str) -> dict[str, Any]:
        """Say what was taken in, and fail if something is refused or missing."""
        verb = "would be taken in" if self._task.check_mode else "taken in"
        count = counted(len(outside.issued), "certificate", "certificates")
        lines = [f"{count} {verb}."]
        unused, refused = _unmatched(completed, outside)
        refused = {**outside.answers.unreadable, **outside.refused, **refused}
        if unused:
            lines += ["Not used:", *(f"- {where}: {why}" for where, why in unused.items())]
        missing = [name for name in map(_name, outside.pending) if name not in outside.answered]
        if not refused and not missing:
            return {"msg": "\n".join([*lines, "All are in place: run site.yml."])}
        if refused:
            lines += ["Refused:", *(f"- {where}: {why}" for where, why in refused.items())]
        if missing:
            lines += [f"Missing in {source}:", *(f"- {name}" for name in sorted(missing))]
            if others := outside.answers.others:
                lines += [
                    "Files that have no certificate in PEM:",
                    *(f"- {name}" for name in others),
                ]
        lines += [
            "Let the CA sign each of these requests as certificate_requests.yml writes it now, and "
            "run this again."
        ]
        return {"failed": True, "msg": "\n".join(lines)}


def _unmatched(
    completed: Secrets, outside: OutsideAuthority
) -> tuple[dict[str, str], dict[str, str]]:
    """Return which certificates have others in their place, and which are of no request."""
    texts = [text for text in completed.certificates.values() if text]
    in_place = {public_key(_certificates(text)): text for text in texts}
    unused: dict[str, str] = {}
    refused: dict[str, str] = {}
    for signed in outside.answers.certificates:
        if signed.is_authority or signed.where in outside.refused:
            continue
        present = in_place.get(signed.public_key)
        if present is None:
            refused[signed.where] = "no request has its key"
        elif signed.pem not in present:
            another = "another certificate of its key is in place"
            unused[signed.where] = outside.passed_over.get(signed.where, another)
    return unused, refused


def _certificates(text: str) -> str:
    """Return a text without the key that it begins with."""
    begin = "-----BEGIN CERTIFICATE-----"
    return f"{begin}{text.partition(begin)[2]}"


def _name(certificate: Certificate) -> str:
    return certificate.name


def _file(certificate: Certificate) -> str:
    return f"{certificate.name.replace('/', '-')}.csr"


def _row(certificate: Certificate) -> dict[str, Any]:
    host, _, kind = certificate.name.partition("/")
    return {
        "host": host,
        "kind": kind,
        "file": _file(certificate),
        "common_name": certificate.common_name,
        "names": [name for name in certificate.names if not is_address(name)],
        "addresses": [name for name in certificate.names if is_address(name)],
        "purposes": purposes(certificate),
    }


def _described(row: Mapping[str, Any]) -> str:
    return f"CN={row['common_name']}, {', '.join([*row['names'], *row['addresses']])}"


def _former(folder: Path) -> set[str]:
    """Return the requests that the table of an earlier run names."""
    rows: Any = ()
    with contextlib.suppress(ValueError, OSError):
        rows = json.loads((folder / TABLE).read_text(encoding="utf-8"))
    names = {str(row.get("file")) for row in sequence(rows) if isinstance(row, dict)}
    return {
        name
        for name in names
        if Path(name).name == name and name.endswith(".csr") and (folder / name).is_file()
    }


def _present(path: Path) -> str:
    with contextlib.suppress(FileNotFoundError, UnicodeDecodeError):
        return path.read_text(encoding="utf-8")
    return ""
