"""How a module checks a service: until it is healthy, or the time of `wait` is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

POLL_SECONDS = 0.1


def module(argument_spec: Mapping[str, Any]) -> AnsibleModule:
    """Return a module with these options, `wait` and `fail`, which changes nothing."""
    common = {
        "wait": {"type": "float", "default": 0},
        "fail": {"type": "bool", "default": True},
    }
    return AnsibleModule(argument_spec={**argument_spec, **common}, supports_check_mode=True)


def run(
    module: AnsibleModule,
    failure: str,
    check: Callable[[], tuple[Mapping[str, Any], list[str]]],
    poll: float = POLL_SECONDS,
) -> None:
    """Exit the module with the last result; `check` returns the current facts and problems."""
    start = time.monotonic()
    while True:
        facts, problems = check()
        seconds = round(time.monotonic() - start, 2)
        if not problems or seconds + poll > module.params["wait"]:
            break
        time.sleep(poll)
    result = {**facts, "healthy": not problems, "problems": problems, "seconds": seconds}
    if problems and module.params["fail"]:
        wrong = "\n- ".join(problems)
        module.fail_json(msg=f"the {failure} after {seconds} s:\n- {wrong}", **result)
    module.exit_json(changed=False, **result)
