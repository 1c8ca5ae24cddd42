#!/usr/bin/python
"""Ansible module: until when a host's certificates for other services than Kafka are valid."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host import certificate_expiry

DOCUMENTATION = r"""
module: service_certificates
short_description: Until when a host's certificates for other services than Kafka are valid
extends_documentation_fragment: [millrace.streaming.check_mode]
description:
  - Checks certificates in the files of the host. With C(zookeeper_security=standard) they are those
    that members of an ensemble, brokers and masters of Spark show each other. With
    C(connect_security=standard) they are those of workers of Kafka Connect, and with
    C(schema_registry_security=standard) those of the schema registry. That of PostgreSQL is checked
    too. A host that has none is not inspected.
  - They must be valid for two days; C(expiring) has those that expire within thirty.
options:
  fail:
    description: Whether a certificate that is not valid fails the task.
    type: bool
    default: true
"""

RETURN = r"""
wrong:
  description: Each certificate that is not valid for long enough, as a sentence.
  returned: always
  type: list
  elements: str
expiring:
  description: Each that ends soon, as a sentence.
  returned: always
  type: list
  elements: str
"""


def main() -> None:
    """Run the module."""
    store = {
        "certificate": {"type": "path", "required": True},
        "trusted": {"type": "str", "required": True},
    }
    module = AnsibleModule(
        argument_spec={
            "stores": {"type": "list", "elements": "dict", "options": store, "required": True},
            "fail": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    wrong, soon = certificate_expiry.lines(
        certificate_expiry.stored(entry["certificate"], entry["trusted"])
        for entry in module.params["stores"]
    )
    result: dict[str, Any] = {"wrong": wrong, "expiring": soon}
    if wrong and module.params["fail"]:
        module.fail_json(msg="\n".join(wrong), **result)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
