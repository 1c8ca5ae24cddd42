"""The control node's part of the module service: options from the model, and the tarball."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleError

from ..module_utils.formats.key_table import nearest
from ..module_utils.formats.values import listing
from ..plugin_utils import ansible_internals, artifacts, run
from ..plugin_utils.action import Action
from ..plugin_utils.cluster import desired
from ..plugin_utils.cluster.files import Entry
from ..plugin_utils.inventory import reading as inventory
from ..plugin_utils.services.monitoring.packaged import Packaged
from ..plugin_utils.services.spark.jobs import Job
from ..plugin_utils.services.spark.model import SparkHost

LOGINS, PACKAGES, MASKS = "logins", "packages", "masks"
AUTHORITIES, SECRETS = "authorities", "secrets"
FORMER_MASKS, FORMER_UNITS = "former_masks", "former_units"
FORMER_PLUGINS = "former_plugins"
KAFKA = "kafka"
FORMER = ("former_jobs", "former_monitoring")
PARTS = {
    "distribution": ("distribution", "plugins", "plugin_directory"),
    "files": ("files", "restart_marks", "previous"),
    "units": ("units", "starts_after", "restart_marks", "ready"),
}


class ActionModule(Action):
    """Ask the host, and transfer the tarball only if it is not unpacked there."""

    TRANSFERS_FILES = True
    OWN = frozenset({"product", "parts", "job", "former_jobs", "former_monitoring"})

    def act(self, args: dict[str, Any]) -> dict[str, Any]:
        """Run the task."""
        explicit = {key: option for key, option in self._task.args.items() if key not in self.OWN}
        options = {**self._from_model(inventory.plain(args)), **explicit}
        if KAFKA in (args["product"], *options.get("units", ())) and args["state"] != "absent":
            options |= self.judged_operations()
        if args["product"] == "host" and self._is_current(options):
            return {"changed": False}
        if not _unpacked(options):
            return self.call(options)
        options = _with_each(options, _size)
        result = self.call(options)
        needed = result.pop("needs_archive", [])
        if not needed or result.get("failed"):
            return result
        missing = [settings for settings in _unpacked(options) if settings["home"] in needed]
        for settings in missing:
            artifacts.verify(Path(settings["tarball"]), settings["sha256"])
        try:
            archives = {
                settings["home"]: {"archive": self._transfer(Path(settings["tarball"]), number)}
                for number, settings in enumerate(missing)
            }
            return self.call(_with_each(options, lambda it: archives.get(it["home"], {})))
        finally:
            self._untyped._remove_tmp_path(ansible_internals.remote_shell(self).tmpdir)

    def _is_current(self, asked: Mapping[str, Any]) -> bool:
        """Return whether the inspection of this run has found a host's files as they are wanted."""
        inspected = inventory.plain(self.variables.get(run.INSPECTION) or {})
        return bool(
            asked.get("files") and inspected.get("current_files") == desired.digest(asked["files"])
        )

    def _from_model(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of what the task names: a job, former ones, or a product."""
        sources: Mapping[str, Callable[[Any, Mapping[str, Any]], dict[str, Any]]] = {
            "job": self._of_job,
            "former_jobs": self._of_former_jobs,
            "former_monitoring": self._of_former_monitoring,
            "product": self._of_product,
        }
        # An empty list of what is left on the host is one to compare with, too.
        named = [
            name for name in sources if args[name] or (name in FORMER and args[name] is not None)
        ]
        try:
            return sources[named[0]](args[named[0]], args) if named else {}
        except OSError as error:
            message = f"the job's files cannot be read: {error}"
            raise AnsibleActionFail(message) from error

    def _of_job(self, given: Mapping[str, Any], args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a job, or of its Python packages alone."""
        job = self._job(given)
        if args["parts"] != [PACKAGES]:
            return desired.of_job(self._spark, job)
        packages = self._spark.drivers.packages(job)
        return packages.unpacked if packages else {}

    def _of_former_jobs(self, found: Any, _: object) -> dict[str, Any]:
        self._refuse_defaults()
        return desired.of_former_jobs(self._spark, found)

    def _of_former_monitoring(self, found: Any, _: object) -> dict[str, Any]:
        self._refuse_defaults()
        return desired.of_former_monitoring(self.cluster, self.host, found)

    def _of_product(self, product: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a product: to remove it, all, or those of some parts."""
        parts = args["parts"] or [*PARTS]
        if parts[0] in self._files:
            return {"files": self._files[parts[0]](product)}
        if parts == [FORMER_PLUGINS]:
            self._refuse_defaults()
            return desired.of_former_plugins(self.cluster, self.host, product)
        if args["state"] == "absent":
            self._refuse_defaults()
            if parts[0] in (FORMER_MASKS, FORMER_UNITS):
                part = self.cluster.part(self.host, product)
                masks, units = part.former_programs if isinstance(part, Packaged) else ({}, {})
                return masks if parts[0] == FORMER_MASKS else units
            return desired.removal(self.cluster, self.host, product)
        options = desired.of_service(self.cluster, self.host, product)
        self._refuse_missing_secrets(product)
        names = {name for part in parts for name in PARTS.get(part, ())}
        return {name: option for name, option in options.items() if name in names}

    @property
    def _files(self) -> Mapping[str, Callable[[str], dict[str, Entry]]]:
        """Part that stands alone -> its files of a product."""
        return {
            LOGINS: self._logins,
            AUTHORITIES: self._authorities,
            MASKS: self._masks,
            SECRETS: lambda _: self.cluster.secrets_record(self.host),
        }

    def _authorities(self, product: str) -> dict[str, Entry]:
        """Return the CA of the schema registry, for jobs on Spark."""
        self._refuse_missing_secrets(product)
        return self._spark.drivers.authorities()

    def _logins(self, product: str) -> dict[str, Entry]:
        """Return the files by which what runs on a service logs in to Kafka and elsewhere."""
        self._refuse_missing_secrets(product)
        if product == "connect":
            self.cluster.part(self.host, product)
            return self.cluster.connect[self.host].secret_files()
        return self._spark.drivers.logins.files()

    def _masks(self, product: str) -> dict[str, Entry]:
        """Return the files that keep packages from starting services of their own."""
        part = self.cluster.part(self.host, product)
        return part.masks() if isinstance(part, Packaged) else {}

    @property
    def _spark(self) -> SparkHost:
        self.cluster.part(self.host, "spark")
        return self.cluster.spark[self.host]

    def _job(self, given: Mapping[str, Any]) -> Job:
        """Return a job as the task describes it, or that of the inventory with a name alone."""
        if given.keys() != {"name"}:
            return Job(**given)
        name = str(given["name"])
        jobs = {job.name: job for job in self._spark.drivers.jobs if job.present}
        if name not in jobs:
            near = nearest(name, list(jobs))
            listed = f"there are {listing(jobs)}" if jobs else "there is none"
            message = f"spark_jobs has no job {name}: {listed}"
            raise AnsibleActionFail(message + (f". Did you mean {near}?" if near else ""))
        self._refuse_missing_secrets("spark")
        return jobs[name]

    def _refuse_missing_secrets(self, product: str) -> None:
        """Refuse to write a file without the secret that belongs into it."""
        missing = self.cluster.missing_secrets(self.host, product)
        if missing:
            message = (
                f"{self.cluster.inventory.secrets.directory} lacks {listing(missing)}. site.yml "
                "makes them for a new cluster; of one that runs, copy the directory from the "
                "control node that deployed it"
            )
            raise AnsibleActionFail(message)

    def _refuse_defaults(self) -> None:
        """Refuse a removal for which invalid variables of the inventory have their defaults."""
        wrong = dict(self.cluster.inventory.hosts[self.host].unresolved)
        wrong |= {
            variable.name: variable.message for variable in self.cluster.invalid.get(self.host, ())
        }
        if wrong:
            reasons = "; ".join(f"{name}: {why}" for name, why in sorted(wrong.items()))
            message = (
                f"nothing was removed, since variables of {self.host} are not valid: {reasons}"
            )
            raise AnsibleActionFail(message)

    @property
    def _untyped(self) -> Any:
        return self

    def _transfer(self, tarball: Path, number: int) -> str:
        """Copy the tarball into the host's temporary directory and return its path there."""
        shell = ansible_internals.remote_shell(self)
        directory = shell.tmpdir or self._make_tmp_path()
        remote: str = shell.join_path(directory, f"archive-{number}.tar")
        try:
            self._untyped._transfer_file(str(tarball), remote)
        except AnsibleError as error:
            needed = -(-tarball.stat().st_size // 2**20)
            message = (
                f"{tarball} could not be copied to {remote} on the host ({error}). It needs "
                f"{needed} MiB there: see `df -h {directory}`, or set remote_tmp to another place"
            )
            raise AnsibleActionFail(message) from error
        self._untyped._fixup_perms2((directory, remote), execute=False)
        return remote


def _unpacked(options: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what is to be unpacked: a distribution, and plugins."""
    return [*filter(None, [options.get("distribution")]), *(options.get("plugins") or ())]


def _with_each(
    options: Mapping[str, Any], add: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> dict[str, Any]:
    """Return options with something added to each distribution and plugin."""
    distribution, plugins = options.get("distribution"), options.get("plugins")
    return {
        **options,
        **({"distribution": {**distribution, **add(distribution)}} if distribution else {}),
        **({"plugins": [{**plugin, **add(plugin)} for plugin in plugins]} if plugins else {}),
    }


def _size(settings: Mapping[str, Any]) -> dict[str, int]:
    """Return the size of a tarball, for the check of the space; nothing where there is none."""
    tarball = Path(settings["tarball"])
    return {"size": tarball.stat().st_size} if tarball.is_file() else {}
