#!/usr/bin/python
"""Ansible module: whether Prometheus and Alertmanager accept a new configuration."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host import paths

DOCUMENTATION = r"""
module: monitoring_check
short_description: Whether Prometheus and Alertmanager accept a configuration, before it is there
extends_documentation_fragment: [millrace.streaming.check_mode]
description:
  - Has promtool and amtool check the configuration of the model in a directory of its own, which
    only root can read and which is removed again. What they refuse fails the task, and the files
    that are in force stay as they are.
  - Where the tools are not installed yet, in check mode, nothing is checked.
options: {}
"""

CHECKS = (
    ("promtool", ["check", "config"], "prometheus.yml"),
    ("promtool", ["check", "web-config"], "web.yml"),
    ("amtool", ["check-config"], "alertmanager.yml"),
)
_SUBJECT = re.compile(r"Checking \S+\s*|FAILED:$")
_QUIET = ("SUCCESS", "amtool: error: failed to validate")


def refused(module: AnsibleModule, directory: Path, tool: str) -> str:
    """Return what a tool says is wrong with the files of a directory, empty if nothing is."""
    wrong = []
    for name, words, file in CHECKS:
        if name != tool or not (directory / file).is_file():
            continue
        command = [module.get_bin_path(tool), *words, str(directory / file)]
        code, out, err = module.run_command(command, cwd=str(directory))
        if code:
            text = f"{out}\n{err}".replace(f"{directory}/", "")
            lines = (_SUBJECT.sub("", line.strip()) for line in text.splitlines())
            wrong += [line for line in lines if line and not line.startswith(_QUIET)]
    return "\n".join(wrong)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={"files": {"type": "dict", "required": True, "no_log": True}},
        supports_check_mode=True,
    )
    tools = [
        tool for tool in dict.fromkeys(name for name, *_ in CHECKS) if module.get_bin_path(tool)
    ]
    with tempfile.TemporaryDirectory(prefix="millrace-monitoring-") as name:
        directory = Path(name)
        for path, content in module.params["files"].items():
            file = directory / path
            file.parent.mkdir(parents=True, exist_ok=True)
            with paths.naming(file):
                file.write_text(str(content), encoding="utf-8")
        refusals = {tool: refused(module, directory, tool) for tool in tools}
    wrong = [f"{tool} refuses it:\n{text}" for tool, text in refusals.items() if text]
    if wrong:
        module.fail_json(
            msg="the new configuration of monitoring is not valid; the former one stays in force. "
            "Correct monitoring_receivers, monitoring_routes, monitoring_route or "
            "monitoring_rule_groups.\n" + "\n".join(wrong)
        )
    module.exit_json(changed=False, checked=tools)


if __name__ == "__main__":
    main()
