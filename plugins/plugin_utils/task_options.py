"""The options of a task that its action takes, and those that go on to the module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory import plain

Options = dict[str, Any]


def split(args: Mapping[str, Any], own: Mapping[str, Any]) -> tuple[Options, Options]:
    """Return the action's own options by their argument spec, and the rest as it is.

    Raises:
        AnsibleActionFail: an own option has another type or value than its spec.

    """
    given = {name: plain(args[name]) for name in own if name in args}
    found = ArgumentSpecValidator(own).validate(given)
    if found.error_messages:
        raise AnsibleActionFail("; ".join(found.error_messages))
    rest = {name: value for name, value in args.items() if name not in own}
    return dict(found.validated_parameters), rest
