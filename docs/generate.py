"""Write the generated documents: `python docs/generate.py [--check] [NAME ...]`, all by default."""

from __future__ import annotations

import argparse
import html
import importlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.engine import Rule

# Key and release that changed its default -> what a cluster notices of it.
CHANGED_DEFAULTS = {
    ("log.message.timestamp.after.max.ms", "4.0"): "a record dated more than an hour ahead is "
    "refused",
    ("num.recovery.threads.per.data.dir", "4.0"): "loading logs at a start uses twice the threads",
    ("group.coordinator.rebalance.protocols", "4.0"): "consumers may use the protocol of KIP-848",
    ("group.coordinator.threads", "4.0"): "consumer groups are coordinated by four threads",
    ("remote.log.manager.thread.pool.size", "4.0"): "followers of tiered partitions are served by "
    "fewer threads",
    ("group.share.partition.max.record.locks", "4.1"): "a share group holds more records in flight",
}
ROOT = Path(__file__).resolve().parent.parent


def configuration() -> dict[Path, str]:
    """Return docs/reference/configuration.md, written from the model: profiles, owned keys, versions."""
    from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka import (
        node as kafka,
    )
    from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.profiles import (
        PROFILES,
    )

    keys = sorted({key for profile in PROFILES.values() for key in profile.settings})
    rows = []
    for key in keys:
        settings = [profile.settings.get(key) for profile in PROFILES.values()]
        reasons = dict.fromkeys(setting.why for setting in settings if setting)
        cells = [_code(setting.formula or setting.value) if setting else "" for setting in settings]
        rows.append([_code(key), *cells, "; ".join(reasons)])
    lines = [
        "# Kafka's configuration",
        "",
        _generated("configuration", "plugins/plugin_utils/services/kafka"),
        "",
        "A Kafka property is a key of `kafka_config`, never a variable of its own. Each line of",
        "`server.properties` comes from the last of these layers that has the key:",
        "",
        "1. **profile**: `kafka_profile` chooses a set of broker settings, below.",
        "2. **topology**: replication that follows from the number of brokers. The replication",
        "   factor is that number, at most 3; `min.insync.replicas` is one less, at least 1, so",
        "   that one of three brokers may be down while producers with `acks=all` continue.",
        "3. **security**: what `kafka_security: standard` sets where listeners are encrypted: keys",
        "   and certificates, SASL of the listeners, the authorizer and its super users.",
        "4. **`kafka_config`**: the cluster's properties, in the inventory's group variables.",
        "5. **`kafka_host_config`**: one host's properties, in its host variables.",
        "6. **owned keys**: what only Millrace writes, from groups and variables, below.",
        "",
        "An owned key in `kafka_config` or `kafka_host_config` is refused before a host is",
        "touched, and so is a key that this version of Kafka does not know.",
        "",
        "## Profiles",
        "",
        *(f"- `{name}`: {profile.purpose}" for name, profile in PROFILES.items()),
        "",
        *_table(["property", *map(_code, PROFILES), "why"], rows),
        "",
        "`cores` is the number of a host's cores. An empty cell leaves the property to Kafka.",
        "",
        "## Owned keys",
        "",
        *_owned(kafka.OWNED),
        "",
        *_key_changes(),
        "",
        *_other_products(),
    ]
    return {ROOT / "docs/reference/configuration.md": "\n".join(lines) + "\n"}


def _owned(owned: Mapping[str, str]) -> list[str]:
    """Return the table of a service's owned keys."""
    rows = [[_code(key), by if " " in by else _code(by)] for key, by in owned.items()]
    return _table(["property", "set by"], rows)


def _key_changes() -> list[str]:
    """Return the sections about keys that a Kafka version removed, deprecated or changed."""
    from ansible_collections.millrace.streaming.plugins.module_utils.formats import versions

    gone = sorted(versions.removed_keys().items(), key=lambda item: (item[1].since, item[0]))
    removed = [[_code(key), removal.since, removal.instead] for key, removal in gone]
    deprecated = [
        [_code(key), old.since, old.instead, old.why]
        for key, old in versions.DEPRECATED_KEYS.items()
    ]
    changed = [
        [_code(key), since, *defaults_around(key, since), effect]
        for (key, since), effect in CHANGED_DEFAULTS.items()
    ]
    return [
        "## Keys that changed with a version",
        "",
        "Removed keys are refused where the version does not know them, deprecated ones are a",
        "warning. The legal keys of each version, with type, default and update mode, are in",
        "`plugins/plugin_utils/services/kafka/keys/`. `./lab keys VERSION` writes them from the",
        "binary.",
        "",
        *_table(["removed", "since", "instead"], removed),
        "",
        *_table(["deprecated", "since", "instead", "why"], deprecated),
        "",
        *_table(["default changed", "since", "from", "to", "effect"], changed),
    ]


def defaults_around(key: str, release: str) -> list[str]:
    """Return the default of a key before a release and with it, as the tables print them."""
    from ansible_collections.millrace.streaming.plugins.module_utils.formats import (
        key_table,
        versions,
    )

    supported = sorted(versions.KAFKA.supported, key=versions.release_numbers)
    new = next(version for version in supported if version.startswith(f"{release}."))
    old = supported[supported.index(new) - 1]
    return [str(key_table.load(version)[key]["default"]) for version in (old, new)]


def _other_products() -> list[str]:
    """Return the sections about the properties of ZooKeeper, Kafka Connect, Spark and HDFS."""
    from ansible_collections.millrace.streaming.plugins.plugin_utils.services.connect import (
        model as connect,
    )
    from ansible_collections.millrace.streaming.plugins.plugin_utils.services.hdfs import (
        model as hdfs,
    )
    from ansible_collections.millrace.streaming.plugins.plugin_utils.services.schema_registry import (
        model as schema_registry,
    )
    from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark import (
        model as spark,
    )
    from ansible_collections.millrace.streaming.plugins.plugin_utils.services.zookeeper import (
        model as zookeeper,
    )

    lines: list[str] = []
    for name, variable, owned in (
        ("ZooKeeper", "zookeeper_config", zookeeper.OWNED),
        ("Kafka Connect", "connect_config", connect.OWNED),
        ("Apicurio Registry", "schema_registry_config", schema_registry.OWNED),
        ("Spark", "spark_config", spark.OWNED),
        ("HDFS", "hdfs_config", hdfs.OWNED),
    ):
        lines += [
            *([""] if lines else []),
            f"## {name}",
            "",
            f"A property of {name} is a key of `{variable}`, which overrides what follows from the",
            "topology. Only Millrace writes these:",
            "",
            *_owned(owned),
        ]
    return lines


RESULTS = "<!-- From here on written by `python docs/generate.py reliability`. -->"


def reliability() -> dict[Path, str]:
    """Return docs/explain/reliability.md: what it says by hand, then the runs of docs/failover.json.

    `python -m apps.ledger page ... --summary docs/failover.json` writes that file.
    """
    page, data = ROOT / "docs/explain/reliability.md", ROOT / "docs/failover.json"
    by_hand = page.read_text(encoding="utf-8").partition(RESULTS)[0]
    runs = json.loads(data.read_text(encoding="utf-8"))["runs"] if data.is_file() else []
    return {page: "\n".join([f"{by_hand.rstrip()}\n", RESULTS, "", *results(runs)]) + "\n"}


def results(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what is known of runs of faults, each as `apps/ledger/recorded_runs.py` writes it."""
    from apps.ledger.recorded_runs import COLUMNS, about, rows

    if not runs:
        return ["No run was recorded yet."]
    lines = [
        "For a fault injected several times: the longest recovery with its limit, the longest gap,",
        "the worst verdict.",
    ]
    for run in runs:
        heading, *text = map(_plain, about(run))
        table = _table(COLUMNS, [[_plain(cell) for cell in row] for row in rows(run)])
        lines += ["", f"### {heading}", "", *text, "", *table]
    return lines


def _plain(text: str) -> str:
    """Return a text in one line without anything that Markdown would take for HTML."""
    return html.escape(" ".join(text.split()), quote=False)


def variables() -> dict[Path, str]:
    """Return docs/reference/variables.md: the variables of every role, written from its argument specs."""
    lines = [
        "# Variables of the roles",
        "",
        _generated("variables", "roles/*/meta/argument_specs.yml and meta/parameters.yml"),
        "",
        "Set them in the inventory. A property of Kafka, Spark, ZooKeeper, HDFS, a worker of Kafka",
        "Connect or the schema registry is not a variable but a key of `kafka_config`,",
        "`spark_config`, `zookeeper_config`, `hdfs_config`, `connect_config` or",
        "`schema_registry_config`: [configuration](configuration.md).",
        "`tasks_from` of `include_role` chooses an entry point. `name[].key` is a key of each entry of",
        "the list `name`.",
        "",
        *_needed(),
    ]
    for role in sorted(path for path in (ROOT / "roles").iterdir() if path.is_dir()):
        lines += role_section(role.name, _yaml(role / "meta" / "argument_specs.yml"))
    parameters: Mapping[str, Mapping[str, Any]] = _yaml(ROOT / "meta/parameters.yml")["parameters"]
    lines += [
        "",
        "## Parameters of the playbooks",
        "",
        "Given with `-e`, in addition to the variables of the entry points above. A name that is",
        "nearly one of these is refused, and so is a value of the wrong type.",
        "",
        *_variables(parameters),
    ]
    return {ROOT / "docs/reference/variables.md": "\n".join(lines) + "\n"}


RESOURCES = "resources.md"
"""The page with the keys of what lives in a cluster, beside that of the variables."""


def _kinds() -> Mapping[str, str]:
    """Return key of a file of resources -> the variable with entries of the same form."""
    from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.resources import (
        KINDS,
    )

    return KINDS


def resources() -> dict[Path, str]:
    """Return docs/reference/resources.md: the keys of entries, in files and in the inventory."""
    from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.resources import (
        files,
        grants,
    )

    specs = _yaml(ROOT / "roles/kafka/meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    roles = [
        [
            _code(role),
            "; ".join(f"{_code(kind)}: {', '.join(words)}" for kind, words in rights.items()),
        ]
        for role, rights in grants.ROLES.items()
    ]
    lines = [
        "# Resources of the cluster",
        "",
        _generated("resources", "roles/kafka/meta/argument_specs.yml"),
        "",
        "The keys of topics, users, grants, quotas, groups and subscriptions. An entry has the same",
        "keys in a file of `kafka_resources_dir` and in the variable of the inventory. How they are",
        "applied: [resources](../operate/resources.md).",
        "",
        "## teams",
        "",
        "In `platform.yml` alone: a mapping of names of teams.",
        "",
        *_variables(files.TEAMS["options"], "key"),
        "",
        "## minimum",
        "",
        "In `platform.yml` alone, for runs without an inventory; with one the profile of the cluster",
        "counts.",
        "",
        *_variables(files.MINIMUM["options"], "key"),
    ]
    for kind, variable in _kinds().items():
        spec = specs[variable]
        lines += [
            "",
            f"## {kind}",
            "",
            f"In the inventory: `{variable}`. {_sentence(spec['description'])}",
            "",
            *_variables(spec["options"], "key"),
        ]
        if kind == "grants":
            lines += [
                "",
                "A role becomes these operations. Those who may read or write may describe, too.",
                "",
                *_table(["role", "operations"], roles),
            ]
    return {ROOT / "docs/reference" / RESOURCES: "\n".join(lines) + "\n"}


def _needed() -> list[str]:
    """Return the section with the variables that the example for own hosts sets."""
    from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import variables

    files = (ROOT / "inventories/vms_example").rglob("*.yml")
    words = {word for file in files for word in re.findall(r"(\w+):", file.read_text("utf-8"))}
    needed = [(name, spec) for name, spec in variables.documented().items() if name in words]
    rows = [
        [_code(name), _sentence(spec["description"]).partition(". ")[0].rstrip(".") + "."]
        for name, spec in needed
    ]
    return [
        f"## The {len(needed)} variables that you need",
        "",
        "These are set in `inventories/vms_example`, the example of a secured cluster on own hosts.",
        "All others have defaults that such a cluster can keep.",
        "",
        *_table(["variable", "what it is"], rows),
    ]


def role_section(name: str, document: Mapping[str, Any]) -> list[str]:
    """Return what a role does, its variables and its entry points, from its argument specs."""
    lines = []
    specs: Mapping[str, Mapping[str, Any]] = document["argument_specs"]
    for entry, spec in specs.items():
        title = f"## {name}" if entry == "main" else f"### {name}, tasks_from: {entry}"
        lines += ["", title, "", *_purpose(spec)]
        if spec.get("options"):
            lines += ["", *_variables(spec["options"])]
    return lines


def _purpose(spec: Mapping[str, Any]) -> list[str]:
    """Return the paragraphs that say what an entry point does."""
    short = _sentence(spec["short_description"])
    return [short, "", _sentence(spec["description"])] if "description" in spec else [short]


ERRORS = {
    "reference/errors": (
        "Refused inventories and hosts",
        "Rules of [Kafka](errors-kafka.md) and of [the other services](errors-services.md) have pages of",
        "their own; this one has those that are about all of them.",
    ),
    "reference/errors-kafka": (
        "Refused: Kafka",
        "The rules of Kafka. [The first page](errors.md) says when rules are checked.",
    ),
    "reference/errors-services": (
        "Refused: other services",
        "The rules of all services but [Kafka](errors-kafka.md). [The first page](errors.md) says when",
        "rules are checked.",
    ),
}
"""Page with rules -> its title and its first lines."""
CHECKED = [
    "Before a run touches a host, the inventory is checked on the control node and every problem",
    "is reported at once, each with the name of its rule in brackets. The message names the",
    "value to set for the inventory at hand, and the address of the rule's entry, which says what",
    "the rule is about. Then every host is inspected, before anything is changed on any: see",
    "[on the hosts](#on-the-hosts-before-anything-is-changed). An error ends the run, a",
    "warning is only shown. `docs_url` makes the addresses those of a site.",
    "",
    "If Ansible itself ends with `couldn't resolve module/action 'millrace.streaming…'`, it did",
    "not read `ansible.cfg`: it ignores that file in a directory to which everybody may write,",
    "with a warning above. Run `chmod o-w .` in the checkout.",
]
"""How rules are checked."""
ON_HOSTS = [
    "`playbooks/preflight.yml` does only this. All hosts are checked together and reported in one",
    "message. In a container, whose kernel and clock are another machine's, some errors are",
    "warnings.",
    "",
]


def errors() -> dict[Path, str]:
    """Return the pages of rules: each with its severity and reason, and docs/rules.yml of it.

    Raises:
        ValueError: names the rules that docs/rules.yml lacks, or has and nobody registers.

    """
    from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.catalogue import RULES

    texts = _yaml(ROOT / "docs/rules.yml")
    if names := sorted({rule.name for rule in RULES} ^ {*texts}):
        message = f"docs/rules.yml needs one entry for each rule: {', '.join(names)}"
        raise ValueError(message)
    on_page = {rule.name: rule.page for rule in RULES}

    def entries(page: str, *, on_cluster: bool) -> list[str]:
        return [
            _to_pages(line, page, on_page)
            for rule in RULES
            if rule.page == page and rule.on_cluster is on_cluster
            for line in _rule(rule, **texts[rule.name])
        ]

    documents = {}
    for page, (title, *about) in ERRORS.items():
        first = page == "reference/errors"
        lines = [
            f"# {title}",
            "",
            _generated("errors", "docs/rules.yml"),
            "",
            *([*CHECKED, ""] if first else []),
            *about,
            "",
            "## In the inventory",
            "",
            *entries(page, on_cluster=True),
            "## On the hosts, before anything is changed",
            "",
            *(ON_HOSTS if first else []),
            *entries(page, on_cluster=False),
        ]
        documents[ROOT / f"docs/{page}.md"] = "\n".join(lines)
    return documents


def _to_pages(line: str, page: str, on_page: Mapping[str, str]) -> str:
    """Return a line of a page whose links to rules lead to the pages that have these."""

    def lead(link: re.Match[str]) -> str:
        other = on_page.get(link[1], page)
        return link[0] if other == page else f"]({Path(other).name}.md#{link[1]})"

    return re.sub(r"\]\(#([\w-]+)\)", lead, line)


def _rule(rule: Rule, when: str, fix: str) -> list[str]:
    """Return the entry of a rule."""
    severity = "Refused" if rule.severity == "error" else "A warning"
    contained = rule.in_container != rule.severity
    within = " In a container it is a warning." if contained else ""
    return [
        f"### {rule.name}",
        "",
        f"{severity} when {when}{within}",
        "",
        f"- Why: {rule.why}",
        f"- What to set: {fix}",
        "",
    ]


def lab() -> dict[Path, str]:
    """Return docs/start/lab.md, whose last block is what `./lab help` prints."""
    page = ROOT / "docs/start/lab.md"
    above, _, _ = page.read_text(encoding="utf-8").rpartition("\n```text\n")
    command = [str(ROOT / "lab"), "help"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {page: f"{above}\n```text\n{printed.rstrip()}\n```\n"}


def forges() -> dict[Path, str]:
    """Return the templates of GitLab, which are those of GitHub without their heads."""
    github, gitlab = ROOT / ".github", ROOT / ".gitlab"
    issues = {
        gitlab / "issue_templates" / path.name: path.read_text(encoding="utf-8").split(
            "---\n\n", 1
        )[1]
        for path in (github / "ISSUE_TEMPLATE").glob("*.md")
    }
    if leftover := {*(gitlab / "issue_templates").glob("*.md")} - {*issues}:
        names = ", ".join(sorted(path.name for path in leftover))
        message = f"remove {names} from .gitlab/issue_templates"
        raise ValueError(message)
    change = (github / "pull_request_template.md").read_text(encoding="utf-8")
    return {**issues, gitlab / "merge_request_templates/Default.md": change}


def topologies() -> dict[Path, str]:
    """Return docs/start/topologies.md, with the inventory of each section as it is.

    Raises:
        ValueError: names the section that has no place for its inventory.

    """
    page = ROOT / "docs/start/topologies.md"
    head, *sections = page.read_text(encoding="utf-8").split("\n## ")
    written = []
    for section in sections:
        name = section.partition("\n")[0]
        hosts = (ROOT / f"inventories/{name}/hosts.yml").read_text(encoding="utf-8")
        above, start, block = section.partition("\n```yaml\n")
        _, end, below = block.partition("\n```\n")
        if not (start and end):
            message = f"the section {name} of docs/start/topologies.md needs a block of YAML"
            raise ValueError(message)
        written.append(f"{above}{start}{hosts.rstrip()}{end}{below}")
    return {page: "\n## ".join([head, *written])}


def ports() -> dict[Path, str]:
    """Return docs/reference/ports.md: what listens on each host of every inventory, from the model."""
    from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import resolve
    from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.service import CALLERS
    from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory.reading import (
        from_directory,
    )
    from ansible_collections.millrace.streaming.plugins.plugin_utils.operations import (
        explain,
        explain_report,
    )

    lines = [
        "# Ports",
        "",
        _generated("ports", "plugins/plugin_utils/cluster"),
        "",
        "What listens on the hosts of each inventory of this repository, and who connects: what a",
        "firewall has to let through, besides SSH from the control node. Of your own inventory,",
        "`playbooks/explain.yml` with `-e explain_ports=true` shows the same.",
        "",
        *(f"- **{caller}**: {meaning}" for caller, meaning in CALLERS.items()),
        "",
        "Options of Java that open a port (JMX, a debugger) are listed where the inventory has",
        "them. JMX opens a second port, any free one, unless",
        "`com.sun.management.jmxremote.rmi.port` is set.",
        "",
        "A driver of Spark listens too, on the host that runs it: executors connect to",
        "`spark.driver.port` and `spark.driver.blockManager.port`, people to `spark.ui.port`",
        "(4040). The first two, and `spark.blockManager.port` of executors, are any free port",
        "unless `spark_config` sets them; set them where a firewall stands between Spark's hosts.",
        "",
        "`host_firewall: nftables` makes a firewall of this on each host:",
        "[security](../deploy/security.md#firewall). Hosts of the inventory reach all ports there: they are",
        "clients, and check each other.",
    ]
    for path in sorted(path for path in (ROOT / "inventories").iterdir() if path.is_dir()):
        # A copy: a lookup may write a secret beside the inventory.
        with tempfile.TemporaryDirectory() as folder:
            cluster = resolve(from_directory(shutil.copytree(path, Path(folder) / path.name)))
        rows = [
            [", ".join(hosts), port, caller, _code(name)]
            for hosts, entries in explain_report.port_rows(explain.ports(cluster)).items()
            for port, caller, name in entries
        ]
        header = ["hosts", "port", "who connects", "set by"]
        lines += ["", f"## {path.name}", "", *_table(header, rows)]
    return {ROOT / "docs/reference/ports.md": "\n".join(lines) + "\n"}


def places() -> dict[Path, str]:
    """Return docs/reference/places.md: what lies where on a host, from the model."""
    from ansible_collections.millrace.streaming.plugins.module_utils.host import secret_record
    from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import (
        firewall,
        variables,
    )
    from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.artifacts import (
        HOMES,
        KEPT_HOMES,
    )
    from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import resolve
    from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.crashes import CRASHES
    from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.host import SYSCTL_FILE
    from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.service import (
        restart_mark,
    )
    from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory.reading import (
        from_directory,
    )
    from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka import node

    from docs import places

    # A copy: a lookup may write a secret beside the inventory.
    with tempfile.TemporaryDirectory() as folder:
        copied = shutil.copytree(ROOT / "inventories/full", Path(folder) / "full")
        cluster = resolve(from_directory(copied))
    meanings = {
        f"{HOMES}/<product>-<version>-<checksum>": f"distributions, the last {KEPT_HOMES} of each",
        f"{HOMES}/<product>": "link to the one that is in use",
        "/usr/local/bin": "links to the command-line tools",
        "/etc/systemd/system/<unit>.service": "the units",
        "/etc/profile.d/kafka.sh": "`$KAFKA_BOOTSTRAP` and `$KAFKA_CLIENT_CONFIG` of login shells",
        "/etc/sysusers.d/millrace-<product>.conf": "the accounts",
        "/etc/tmpfiles.d/millrace-<product>.conf": "the age at which reports of crashes are removed",
        SYSCTL_FILE: "settings of the kernel",
        "/etc/needrestart/conf.d/millrace-<product>.conf": "updates restart none of the services",
        firewall.FILE: "the firewall, if `host_firewall` is `nftables`",
        restart_mark("<unit>"): "exists while the unit runs with older files than it has",
        f"{CRASHES}/<product>": "ends of units, reports of the JVM, one heap dump",
        node.OPERATION: "the operation that runs, or the last one; the lock of the cluster",
        node.PREVIOUS: "what Kafka was started with, to go back to",
        node.DYNAMIC_RECORD: "the keys that Millrace has set online",
        secret_record.RECORD: "the generation of the secrets with which the host was deployed",
        node.AUTHORIZER_LOG: "what Kafka's authorizer denied",
    }
    lines = [
        "# Where everything lies on a host",
        "",
        _generated("places", "the model or docs/generate.py"),
        "",
        "From the inventory `full`, which has every service; directories of data are those of the",
        "defaults. The ports of each inventory, and who connects: [ports](ports.md). What grows, and",
        "what removes it: [places that grow](../operate/growth.md).",
        "",
        "Logs are in the journal: `journalctl -u UNIT`, with the units below. Exceptions:",
        f"`{node.AUTHORIZER_LOG}`, and executors of Spark, which log below `/var/lib/spark/work`.",
        "",
        "## Services",
        "",
        *_table(
            ["service", "account", "units", "configuration", "data", "ports"],
            places.services(cluster, variables.defaults()),
        ),
        "",
        "## Millrace's own",
        "",
        *_table(["path", "what"], [[_code(path), meaning] for path, meaning in meanings.items()]),
        "",
        "## Configuration files",
        "",
        "Millrace writes them: change the inventory, not the files. Names of logins, connectors and",
        "jobs are those of the inventory `full`.",
        "",
        *_table(["file", "mode, owner, group", ""], places.configuration(cluster)),
    ]
    return {ROOT / "docs/reference/places.md": "\n".join(lines) + "\n"}


def _generated(name: str, source: str) -> str:
    return (
        f"<!-- Generated by `python docs/generate.py {name}`; change {source}, not this file. -->"
    )


def _variables(options: Mapping[str, Mapping[str, Any]], kind: str = "variable") -> list[str]:
    header = [kind, "type", "default", "description"]
    return _table(header, [row for item in options.items() for row in _option_rows(*item)])


def _option_rows(name: str, option: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the row of an option, then those of the keys of its entries."""
    kind = option["type"]
    if "elements" in option:
        kind += f" of {option['elements']}"
    default = _code(option["default"]) if "default" in option else ""
    default = "required" if option.get("required") else default
    description = _sentence(option["description"])
    if "choices" in option:
        description += f" One of {', '.join(_code(choice) for choice in option['choices'])}."
    sections = {variable: section for section, variable in _kinds().items()}
    if name in sections:
        description += f" Keys of its entries: [{sections[name]}]({RESOURCES}#{sections[name]})."
    yield [_code(name), kind, default, description]
    if name in sections:
        return
    entry = f"{name}[]" if option["type"] == "list" else name
    for key, nested in option.get("options", {}).items():
        yield from _option_rows(f"{entry}.{key}", nested)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]


def _code(value: object) -> str:
    return f"`{value}`" if isinstance(value, str) and value else f"`{json.dumps(value)}`"


def _sentence(text: str | Sequence[str]) -> str:
    joined = " ".join([text] if isinstance(text, str) else text)
    return joined if joined.endswith(".") else f"{joined}."


def _yaml(path: Path) -> Any:
    from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.files import parse_yaml

    return parse_yaml(path.read_text(encoding="utf-8"))


def alerts() -> dict[Path, str]:
    """Return docs/operate/alerts.md with the alerts that runs of tests/failover/test_alerts.py have seen.

    They are in docs/alerts.json, which has what these write to build/alerts.json.

    Raises:
        ValueError: names the alerts that have no section there.

    """
    recorded = json.loads((ROOT / "docs/alerts.json").read_text(encoding="utf-8"))
    title = "## Seen on a real cluster"
    page = ROOT / "docs/operate/alerts.md"
    above, _, _ = page.read_text(encoding="utf-8").partition(title)
    rules = [
        rule["alert"]
        for file in sorted((ROOT / "roles/monitoring/files/alerts").glob("*.yml"))
        for group in _yaml(file)["groups"]
        for rule in group["rules"]
    ]
    if missing := [name for name in rules if f"\n### {name}\n" not in above]:
        message = f"docs/operate/alerts.md needs a section for {', '.join(missing)}"
        raise ValueError(message)
    rows = [
        [_alert(alert["alert"]), *(str(alert[key]) for key in ("fault", "lab", "fired", "cleared"))]
        for alert in recorded["alerts"]
    ]
    unseen = [f"- {_alert(name)}" for name in recorded["not_yet_seen"]]
    if unseen:
        unseen = ["", "Not yet seen on a cluster, but tested with `promtool`:", "", *unseen]
    lines = [
        title,
        "",
        _generated("alerts", "docs/alerts.json"),
        "",
        f"On {recorded['date']}, on the lab named in each row, scraped every 5 s, `vm` every 15 s.",
        "The faults were injected on real daemons, several at a time; each alert went through",
        "Alertmanager to a webhook. Seconds are from the fault until the receiver had the alert,",
        "and from when its healing began until it had the message that the alert is over.",
        "",
        f"For {_alert('ConsumerGroupAbandoned')} a day is simulated. Once the lag exporter has",
        "read the group and its unread record, its clock is put 26 hours ahead. Samples in",
        "which the group had no members a day ago are added to the storage of Prometheus.",
        "",
        *_table(["alert", "fault", "lab", "fired after (s)", "cleared after (s)"], rows),
        *unseen,
    ]
    return {page: above + "\n".join(lines) + "\n"}


def _alert(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def decisions() -> dict[Path, str]:
    """Return docs/decisions/README.md, the list of the decisions by their headings."""
    folder = ROOT / "docs/decisions"
    lines = [
        "# Decisions",
        "",
        _generated("decisions", "the headings of the decisions"),
        "",
        "Why Millrace is built as it is.",
        "",
    ]
    for path in sorted(folder.glob("[0-9]*.md")):
        heading = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        number, _, title = heading.partition(": ")
        lines.append(f"- {number}: [{title}]({path.name})")
    return {folder / "README.md": "\n".join(lines) + "\n"}


def properties() -> dict[Path, str]:
    """Return the pages with the properties that the default versions of Kafka and Connect know."""
    from ansible_collections.millrace.streaming.plugins.module_utils.formats import (
        key_table,
        versions,
    )

    services = ROOT / "plugins/plugin_utils/services"
    changes = [
        "A changed value is taken by a running broker where `change` is `cluster-wide` or",
        "`per-broker`, and otherwise with a restart; `site.yml` does what the key needs.",
        "",
    ]
    documents = {}
    for product, name, variable, release in (
        ("kafka", "Kafka", "kafka_config", versions.KAFKA.default),
        ("connect", "Kafka Connect", "connect_config", versions.PRODUCTS["connect"].default),
    ):
        table = key_table.read(services / product / "keys", release)
        rows = [
            [
                _code(key),
                about.get("type") or "",
                "" if about.get("default") is None else _code(about["default"]),
                _code(about["valid"]) if about.get("valid") else "",
                about.get("update", "") or "",
            ]
            for key, about in table.items()
        ]
        lines = [
            f"# Properties of {name}",
            "",
            _generated("properties", f"plugins/plugin_utils/services/{product}/keys"),
            "",
            f"The keys that `{variable}` may have with {name} {release}, as its binary names them.",
            "[Configuration](configuration.md) says which layer sets them.",
            "",
            *(changes if product == "kafka" else []),
            *_table(["property", "type", "default", "values", "change"], rows),
        ]
        documents[ROOT / f"docs/reference/properties-{product}.md"] = "\n".join(lines) + "\n"
    return documents


def modules() -> dict[Path, str]:
    """Return docs/reference/modules.md, from the documentation of the modules."""
    lines = [
        "# Modules",
        "",
        _generated("modules", "DOCUMENTATION in plugins/modules"),
        "",
        "What the roles and playbooks are made of. Most options follow from the inventory and are",
        "not listed: a task gives the ones that are. `ansible-doc millrace.streaming.NAME` shows",
        "the same.",
    ]
    for path in sorted((ROOT / "plugins/modules").glob("*.py")):
        lines += ["", *_module(path)]
    return {ROOT / "docs/reference/modules.md": "\n".join(lines) + "\n"}


def _module(path: Path) -> list[str]:
    """Return the section of a module."""
    from ansible.parsing.plugin_docs import read_docstring
    from ansible_collections.millrace.streaming.plugins.plugin_utils import action

    document: Mapping[str, Any] = read_docstring(str(path))["doc"]
    lines = [f"## {path.stem}", "", _sentence(_marked(document["short_description"])), ""]
    description = document["description"]
    paragraphs = [description] if isinstance(description, str) else description
    lines += [f"- {_marked(paragraph)}" for paragraph in paragraphs]
    if options := action.options(path.stem):
        lines += ["", *map(_marked, _variables(_typed(options), "option"))]
    return lines


def _typed(options: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return options of a module with the type that Ansible takes where none is named."""
    return {
        name: {
            "type": "str",
            **option,
            **({"options": _typed(option["suboptions"])} if "suboptions" in option else {}),
        }
        for name, option in options.items()
    }


def _marked(text: str) -> str:
    """Return a text of a module's documentation with its markup in Markdown."""
    text = re.sub(r"\bM\(millrace\.streaming\.(\w+)\)", r"[\1](#\1)", text)
    return re.sub(r"\b(?:C|O|V|RV|M|I)\(((?:\\\)|[^)])*)\)", r"`\1`", text)


RECORDS = re.compile(
    r"(<!-- Records (\w+) of docs/benchmarks\.yml, .*? -->\n).*?(\n<!-- End of the records\. -->)",
    re.DOTALL,
)


def performance() -> dict[Path, str]:
    """Return docs/explain/performance.md, with the tables of the records in docs/benchmarks.yml."""
    page = ROOT / "docs/explain/performance.md"
    tables: Mapping[str, Mapping[str, Any]] = _yaml(ROOT / "docs/benchmarks.yml")

    def written(place: re.Match[str]) -> str:
        return "\n".join([place[1], *record_table(place[2], tables.get(place[2])), place[3]])

    text = page.read_text(encoding="utf-8")
    if unused := {*tables} - {place[2] for place in RECORDS.finditer(text)}:
        message = f"docs/explain/performance.md has no place for: {', '.join(sorted(unused))}"
        raise ValueError(message)
    return {page: RECORDS.sub(written, text)}


def record_table(name: str, table: Mapping[str, Any] | None) -> list[str]:
    """Return a table of records, each with its date, commit and machine.

    Raises:
        ValueError: names the table that has no records, or the record that lacks one of these.

    """
    if not table:
        message = f"docs/benchmarks.yml has no records {name}"
        raise ValueError(message)
    origin = ("date", "commit", "machine")
    for record in table["records"]:
        if missing := [key for key in origin if not record.get(key)]:
            message = f"docs/benchmarks.yml: the record {record['what']!r} has no {missing[0]}"
            raise ValueError(message)
    rows = [
        [record["what"], *record["figures"], *(str(record[key]) for key in origin)]
        for record in table["records"]
    ]
    return _table([*table["columns"], *origin], rows)


DOCUMENTS: dict[str, Callable[[], dict[Path, str]]] = {
    "alerts": alerts,
    "configuration": configuration,
    "decisions": decisions,
    "errors": errors,
    "forges": forges,
    "lab": lab,
    "modules": modules,
    "performance": performance,
    "places": places,
    "ports": ports,
    "properties": properties,
    "reliability": reliability,
    "resources": resources,
    "topologies": topologies,
    "variables": variables,
}


def stale(documents: dict[Path, str]) -> list[Path]:
    """Return the files that do not hold what they should."""
    return [
        path
        for path, content in documents.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != content
    ]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; with --check nothing is written and stale files are an error."""
    parser = argparse.ArgumentParser(description="Write the generated documents.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(DOCUMENTS)}")
    parser.add_argument("--check", action="store_true", help="only say which are stale")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in DOCUMENTS]
    if unknown:
        parser.error(f"no document {', '.join(unknown)}; there are {', '.join(DOCUMENTS)}")
    # Once an inventory was read, Ansible's importer is in charge, and misses packages of the clone.
    importlib.import_module(
        "ansible_collections.millrace.streaming.plugins.plugin_utils.operations.explain_report"
    )
    documents: dict[Path, str] = {}
    for name in options.names or DOCUMENTS:
        documents |= DOCUMENTS[name]()
    old = stale(documents)
    for path in old:
        sys.stdout.write(f"{path.relative_to(ROOT)} {'is stale' if options.check else 'written'}\n")
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(documents[path], encoding="utf-8")
    return 1 if options.check and old else 0


if __name__ == "__main__":
    # As a script it finds the ledger and the collection of this clone without any installation.
    sys.path[:0] = [str(ROOT / "collections"), str(ROOT)]
    sys.exit(main())
