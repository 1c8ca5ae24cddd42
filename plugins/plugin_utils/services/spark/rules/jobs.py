"""The rules about the jobs on Spark: names, files, room, times, and their users of Kafka."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from .....module_utils.formats.key_table import nearest
from .....module_utils.formats.values import integer, listing
from ....cluster.cluster import Cluster
from ....cluster.jvm_options import heap_mb
from ....cluster.registry import KAFKA_USERS
from ....rules.engine import Finding, Findings, host_rule, rule
from ....rules.inspection import InspectedHost
from ....rules.shared import falls_back_to_default, one_value, shared_values, wrong_path
from ...connect.connectors import allows
from ...kafka.rules.users import wrong_grants, wrong_name
from ..jobs import HELPER, ONCE, SERVICE, VARIABLE, Job
from ..key_table import size_mb
from ..model import SparkHost
from . import job_arguments

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
# Directories in the shared one that are not a job's, and the stream of flights.yml.
_TAKEN: Mapping[str, str] = {
    "events": "the directory of event logs",
    "warehouse": "the directory of tables",
    "flights": "the stream of flights.yml",
}
_LEAST_MB = 450
_A_SCHEDULE = (
    f"Set {SERVICE} for a job that runs all the time, {ONCE} for one that is run by hand, or a "
    "time such as daily or Mon..Fri 06:30."
)


def _driver(cluster: Cluster) -> Iterator[tuple[str, SparkHost]]:
    """Yield the host of the jobs' drivers, if it has jobs."""
    for name, host in cluster.spark.items():
        if (
            host.drivers.run_here
            and host.drivers.jobs
            and not falls_back_to_default(cluster, name, VARIABLE)
        ):
            yield name, host


def _every_job(cluster: Cluster) -> Iterator[tuple[str, Cluster, Job]]:
    """Yield the jobs, also those that are to be removed."""
    for name, host in _driver(cluster):
        for job in host.drivers.jobs:
            yield name, cluster, job


def _jobs(cluster: Cluster) -> Iterator[tuple[str, Cluster, Job]]:
    """Yield the jobs that are to be there."""
    return (checked for checked in _every_job(cluster) if checked[-1].present)


def _at(job: Job, key: str) -> str:
    return f"{VARIABLE}[{job.name}].{key}"


@rule("spark-jobs-differ", where=VARIABLE)
def _spark_jobs_differ(cluster: Cluster) -> Findings:
    """The first master has the drivers, and every host the logins of the jobs."""
    return one_value(cluster, "in the group variables of all Spark hosts", cluster.spark, VARIABLE)


@rule("spark-job-duplicate", each=_driver, where=VARIABLE)
def _spark_job_duplicate(host: SparkHost) -> Findings:
    """One of the two would take the place of the other."""
    for name, places in shared_values(
        {place: job.name for place, job in enumerate(host.drivers.jobs)}
    ):
        yield Finding(f"{name} is named {len(places)} times.", "Give each job a name of its own.")


@rule("spark-job-name", each=_jobs, where=VARIABLE)
def _spark_job_name(_: Cluster, job: Job) -> Findings:
    """It is part of a unit's name, and that of the job's directories."""
    if job.name in _TAKEN:
        yield Finding(f"{job.name} is {_TAKEN[job.name]}.", "Choose another name.")
    elif not _NAME.fullmatch(job.name):
        fix = "Choose letters, digits, - and _, at most 100; a letter or a digit comes first."
        yield Finding(f"{job.name!r} is no name for a job.", fix)


@rule("spark-job-files", each=_jobs)
def _spark_job_files(_: Cluster, job: Job) -> Findings:
    """Its driver would end at its start, or nothing could be copied to the hosts."""
    source = Path(job.source)
    if not job.source:
        fix = "Set source to the directory of its package, or to its only file."
        yield Finding(f"The job {job.name} has no source.", fix, _at(job, "source"))
    elif path_problem := wrong_path(job.source, "not", is_there=source.exists()):
        problem, fix = f"{job.source} of the job {job.name} {path_problem[0]}.", path_problem[1]
        yield Finding(problem, fix, _at(job, "source"))
    elif {*job.entries}.isdisjoint(job.files.values()):
        yield Finding(*_no_entry(job), _at(job, "module"))
    else:
        for file in filter(_is_unreadable, job.files.values()):
            problem = f"{file} of the job {job.name} cannot be read as text in UTF-8."
            yield Finding(problem, "Make it readable, and save it in UTF-8.", _at(job, "source"))
    for path in job.data:
        path_problem = wrong_path(path, "no file", is_there=Path(path).is_file())
        if not path_problem and _is_unreadable(Path(path)):
            path_problem = "cannot be read as text in UTF-8", "Copy it to the hosts in another way."
        if path_problem:
            problem, fix = path_problem
            yield Finding(
                f"{path or 'A file'} of the job {job.name} {problem}.", fix, _at(job, "data")
            )
    for name, places in shared_values({path: Path(path).name for path in job.data}):
        problem = f"{listing(places)} of the job {job.name} would both be {name} on the hosts."
        yield Finding(problem, "Rename one of them.", _at(job, "data"))


@rule("spark-job-arguments", each=_jobs)
def _spark_job_arguments(_: Cluster, job: Job) -> Findings:
    """The program would end at its start. One that does not declare its arguments with argparse, in
    the module that is run, is not checked.
    """
    entry = next((path for path in job.entries if path in job.files.values()), None)
    if entry is None or _is_unreadable(entry):
        return
    declared = job_arguments.declared(entry.read_text(encoding="utf-8"))
    if declared and (message := job_arguments.refusal(declared, job.arguments)):
        problem = f"{job.module} of the job {job.name} refuses its arguments: {message}."
        fix = f"It has {listing(declared.names)}." if declared.names else "It has no arguments."
        yield Finding(problem, fix, _at(job, "arguments"))


@rule("spark-job-requirements", each=_jobs)
def _spark_job_requirements(cluster: Cluster, job: Job) -> Findings:
    """Each package is the one that was reviewed: pip takes none without a hash (pip, Secure
    installs).
    """
    if not job.requirements:
        return
    at, path = _at(job, "requirements"), Path(job.requirements)
    if path_problem := wrong_path(job.requirements, "no file", is_there=path.is_file()):
        yield Finding(f"{path} of the job {job.name} {path_problem[0]}.", path_problem[1], at)
    elif _is_unreadable(path):
        problem = f"{path} of the job {job.name} cannot be read as text in UTF-8."
        yield Finding(problem, "Make it readable, and save it in UTF-8.", at)
    elif lines := _not_hashed(path.read_text(encoding="utf-8")):
        problem = f"{path} of the job {job.name} has lines without a version and hashes: "
        fix = "Write it with pip-compile --generate-hashes, or uv pip compile --generate-hashes."
        yield Finding(problem + "; ".join(lines) + ".", fix, at)


def _not_hashed(text: str) -> list[str]:
    """Return the requirements that do not name one version and its hashes, and pip's options."""
    lines = re.sub(r"(^|\s)#.*", "", text, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    named = re.compile(
        r"[\w.-]+(\[[\w,.-]+\])?==[^\s;*]+\s*(;.*?)?(\s+--hash=sha256:[0-9a-f]{64})+\s*"
    )
    return [
        " ".join(line.split())
        for line in lines
        if line.strip() and not named.fullmatch(line.strip())
    ]


def _is_unreadable(path: Path) -> bool:
    try:
        path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return True
    return False


def _no_entry(job: Job) -> tuple[str, str]:
    """Return what is wrong with the module of a job, and what to set."""
    source = Path(job.source)
    if source.is_file() and source.suffix != ".py":
        return f"{job.source} of the job {job.name} is no Python file.", "Set source to one."
    if "." in source.name.removesuffix(".py"):
        return f"{job.source} of the job {job.name} has a dot in its name.", "Rename it without."
    names = [
        name.removesuffix(".py").replace("/", ".")
        for name, path in job.files.items()
        if path != HELPER and path.suffix == ".py"
    ]
    modules = [name for name in names if not name.rpartition(".")[2].startswith("__")]
    near = nearest(job.module, modules) or next(iter(modules), "")
    expected = listing([str(path) for path in job.entries], "or")
    problem = f"The job {job.name} runs the module {job.module}, "
    problem += f"and there is no {expected}." if expected else f"which is not in {source}."
    return problem, f"Set module: {near}." if near else f"Add {source}/__main__.py."


def _workers(cluster: Cluster, variable: str) -> list[SparkHost]:
    """Return the workers, none if a variable of one is not known."""
    names = cluster.inventory.members("spark_workers")
    is_valid = not any(falls_back_to_default(cluster, name, variable) for name in names)
    return [cluster.spark[name] for name in names if is_valid]


def _all_cores(cluster: Cluster) -> int:
    """Return the cores of all workers, 0 if a worker offers what its host has."""
    workers = _workers(cluster, "spark_worker_cores")
    offered = [worker.settings["spark_worker_cores"] for worker in workers]
    return sum(offered) if offered and min(offered) > 0 else 0


@rule("spark-job-room", each=_jobs)
def _spark_job_room(cluster: Cluster, job: Job) -> Findings:
    """It would wait forever, or run with fewer cores than it was made for."""
    cores = _all_cores(cluster)
    if job.cores is not None and job.cores < 1:
        problem = f"cores of the job {job.name} is {job.cores}."
        yield Finding(problem, "Set cores to 1 or more, or delete it.", _at(job, "cores"))
    elif cores and job.cores and job.cores > cores:
        problem = f"cores {job.cores} of the job {job.name} > {cores} of all workers."
        yield Finding(problem, f"Set cores to {cores} or less.", _at(job, "cores"))
    for _, host in _driver(cluster):
        least = integer(host.config.get("spark.executor.cores"))
        if least and job.cores and 0 < job.cores < least:
            problem = f"cores {job.cores} of the job {job.name} < spark.executor.cores {least}."
            yield Finding(problem, f"Set cores to {least} or more.", _at(job, "cores"))
    if not job.memory:
        return
    size = size_mb(job.memory)
    heaps = [
        worker.settings["spark_worker_memory"]
        for worker in _workers(cluster, "spark_worker_memory")
    ]
    most = max((heap_mb(heap) or 0 for heap in heaps), default=0)
    if size is None or size < _LEAST_MB:
        problem = f"memory of the job {job.name} is {job.memory}."
        fix = f"Set memory to a size such as 1g, at least {_LEAST_MB}m."
        yield Finding(problem, fix, _at(job, "memory"))
    elif most and size > most:
        problem = f"memory {size} MiB of the job {job.name} > spark_worker_memory {most} MiB."
        yield Finding(problem, f"Set memory to {most}m or less.", _at(job, "memory"))


def _services(cluster: Cluster) -> Iterator[tuple[str, Cluster, SparkHost, list[Job]]]:
    """Yield the jobs that run all the time, if there are several."""
    for name, host in _driver(cluster):
        jobs = [job for job in host.drivers.jobs if job.present and job.services]
        if len(jobs) > 1:
            yield name, cluster, host, jobs


@rule("spark-jobs-room", each=_services, where=VARIABLE)
def _spark_jobs_room(cluster: Cluster, host: SparkHost, jobs: list[Job]) -> Findings:
    """A service keeps its cores, so that the last one would wait forever."""
    cores = _all_cores(cluster)
    most = integer(host.config.get("spark.cores.max")) or cores
    requested = {job.name: job.cores or most for job in jobs}
    if cores and sum(requested.values()) > cores:
        shares = listing([f"{name} {count}" for name, count in requested.items()])
        problem = f"The services among the jobs want {sum(requested.values())} cores ({shares}), "
        problem += f"and all workers have {cores}."
        yield Finding(problem, "Set cores of the jobs to less, or raise spark_worker_cores.")


@rule("spark-job-schedule-text", each=_jobs)
def _spark_job_schedule_text(_: Cluster, job: Job) -> Findings:
    """All but service and once is taken for a time, which only systemd on the host can read."""
    at = _at(job, "schedule")
    problem = f"schedule {job.schedule!r} of the job {job.name} is no time."
    if not job.schedule:
        yield Finding(f"schedule of the job {job.name} is empty.", _A_SCHEDULE, at)
    elif not job.schedule.isprintable():
        yield Finding(problem, _A_SCHEDULE, at)
    elif job.timer and (near := nearest(job.schedule.lower(), [SERVICE, ONCE])):
        yield Finding(problem, f"Set schedule: {near}.", at)


@rule("spark-job-late-after", each=_jobs)
def _spark_job_late_after(_: Cluster, job: Job) -> Findings:
    """With a negative time a job would always be late."""
    if job.late_after < 0:
        problem = f"late_after of the job {job.name} is {job.late_after}."
        fix = "Set it to a number of seconds, or delete it: then the job is never late."
        yield Finding(problem, fix, _at(job, "late_after"))


def _jobs_here(host: InspectedHost) -> Iterator[tuple[InspectedHost, Job]]:
    """Yield the jobs whose drivers run on a host."""
    for job in host.spark.drivers.jobs_here if host.spark else ():
        yield host, job


@host_rule("spark-job-schedule", each=_jobs_here)
def _spark_job_schedule(host: InspectedHost, job: Job) -> Findings:
    """systemd ignores a time that it cannot read, and the job would never run (systemd.time)."""
    if message := host.inspection.spark.refused_schedules.get(job.schedule):
        problem = f"systemd refuses the schedule of the job {job.name}: {message.rstrip('.')}."
        yield Finding(problem, _A_SCHEDULE, _at(job, "schedule"))


@rule("spark-job-checkpoint", each=_driver)
def _spark_job_checkpoint(host: SparkHost) -> Findings:
    """It belongs to one query, and health.yml reads it on the hosts."""
    present = [job for job in host.drivers.jobs if job.present]
    for job in present:
        if job.checkpoint and not re.match(r"/|\w+://", job.checkpoint):
            problem = (
                f"checkpoint {job.checkpoint} of the job {job.name} is no absolute path or URL."
            )
            fix = f"Set it to {host.shared_dir}/{job.name}/checkpoint for example."
            yield Finding(problem, fix, _at(job, "checkpoint"))
    for path, names in shared_values({job.name: host.drivers.checkpoint(job) for job in present}):
        problem = f"{path} is the checkpoint of {listing(names)}."
        yield Finding(problem, "Give each job a checkpoint of its own.", VARIABLE)


@rule("spark-job-late", each=_driver)
def _spark_job_late(host: SparkHost) -> Findings:
    """health.yml reads a checkpoint that is a directory on the hosts, or in HDFS of the inventory,
    and would call another stream late although it is not.
    """
    streams = host.hdfs.streams if host.hdfs else {}
    for job in host.drivers.jobs:
        elsewhere = "://" in job.checkpoint and job.name not in streams
        if job.present and job.late_after and job.services and elsewhere:
            problem = (
                f"{job.checkpoint} of the job {job.name} cannot be read, and late_after is set."
            )
            yield Finding(problem, "Delete late_after.", _at(job, "late_after"))


@rule("spark-job-user", each=_every_job)
def _spark_job_user(cluster: Cluster, job: Job) -> Findings:
    """Kafka lets a user do what its grants say, and nothing else; each job has a user of its own,
    which has its grants in one place.
    """
    where = _at(job, "kafka_user")
    broker = next(iter(cluster.brokers), None)
    if broker is None or falls_back_to_default(cluster, broker.name, "kafka_users"):
        return
    named = {str(entry["name"]): entry for entry in broker.settings["kafka_users"]}
    job_names = sorted(
        {candidate.name for _, _, candidate in _jobs(cluster) if candidate.user == job.user}
    )
    if not job.user:
        if job.present and (job.grants or job.topics):
            problem = f"The job {job.name} has {'grants' if job.grants else 'topics'} and no user."
            yield Finding(problem, f"Set kafka_user: {job.name}.", where)
    elif name_problem := wrong_name(cluster, job.user):
        yield Finding(
            f"{job.user!r} of the job {job.name} {name_problem}.", "Choose another.", where
        )
    elif job.user in KAFKA_USERS:
        problem = f"{job.user} of the job {job.name} is a user of Millrace's own programs."
        yield Finding(problem, f"Set kafka_user: {job.name}.", where)
    elif not job.present:
        return
    elif len(job_names) > 1:
        problem = f"{job.user} is the user of {listing(job_names)}."
        yield Finding(problem, "Give each job a user of its own.", VARIABLE)
    elif job.grants and job.user in named:
        problem = (
            f"{job.user} of the job {job.name} has an entry in kafka_users, and grants besides."
        )
        fix = f"Delete grants of the job, or choose another user for {job.name}."
        yield Finding(problem, fix, where)
    elif not job.grants and job.user not in named:
        problem = f"{job.user} of the job {job.name} has no grants."
        fix = "Set grants, such as {topic: clicks, operations: [read]}, or name it in kafka_users."
        yield Finding(problem, fix, _at(job, "grants"))
    elif job.user in named and named[job.user].get("state") == "absent":
        problem = f"{job.user} of the job {job.name} is absent in kafka_users."
        yield Finding(problem, f"Delete state of {job.user} there, or choose another.", where)


@rule("spark-job-grant", each=_jobs)
def _spark_job_grant(_: Cluster, job: Job) -> Findings:
    """Kafka refuses an operation that a resource does not have, and a grant is for one resource."""
    return wrong_grants(job.user or job.name, job.grants, _at(job, "grants"))


@rule("spark-job-topic", each=_jobs)
def _spark_job_topic(cluster: Cluster, job: Job) -> Findings:
    """It would end when it first reads or writes the topic, since Kafka denies what no grant
    allows.
    """
    broker = next(iter(cluster.brokers), None)
    users = {user.name: user.grants for user in broker.security.users} if broker else {}
    grants = job.grants or users.get(job.user)
    if grants is None or (broker and falls_back_to_default(cluster, broker.name, "kafka_users")):
        return  # which another rule reports, or nobody logs in
    for topic in job.topics:
        if not any(
            allows(grant, topic, operation) for grant in grants for operation in ("read", "write")
        ):
            problem = f"{job.user or 'No user'} of the job {job.name} has no grant for {topic}."
            fix = f"Add {{topic: {topic}, operations: [read]}} to grants, or write."
            yield Finding(problem, fix, _at(job, "grants"))
