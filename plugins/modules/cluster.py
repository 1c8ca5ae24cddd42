#!/usr/bin/python
"""Documentation of the action cluster, which runs on the control node."""

DOCUMENTATION = r"""
module: cluster
short_description: Resolve the cluster of an inventory, and refuse it with every problem at once
description:
  - Resolves all hosts of the inventory, once a run; every other action of the collection reads the
    same cluster.
  - Checks it against the rules; each problem has what, where, why and the value to set, and is
    shown once. An error fails the task, a warning is only shown. A cluster without errors is not
    checked again in the run.
options:
  inspected:
    description: Hosts to check by what M(millrace.streaming.preflight) has found on them.
    type: list
    elements: str
    default: []
  allow_version_change:
    description: With O(inspected), which change of Kafka's version a host may be about to make.
    type: str
    choices: [none, up, down, any]
    default: none
  allow_operation:
    description: With O(inspected), whether another rolling change may be running on the cluster.
    type: bool
    default: false
  hosts_changed:
    description: With O(inspected), whether the hosts themselves, but no service, were changed
      before; a refusal says so.
    type: bool
    default: false
  accept_secrets:
    description: With O(inspected), whether the secrets on the control node replace those with which
      the hosts were deployed, also where they are older or others.
    type: bool
    default: false
  generate:
    description: Generate what the inventory does not have, and keep it beside the inventory. That
      is the id of a KRaft cluster, in C(kafka_cluster_id.txt), and with C(kafka_security=standard)
      a CA, certificates and passwords, in C(kafka_secrets_dir).
    type: bool
    default: false
  known_cluster_id:
    description: The id to keep there instead, of a cluster that has generated its own.
    type: str
    default: ""
  json:
    description: File on the control node that gets the result as JSON.
    type: path
  junit:
    description: File on the control node that gets it as JUnit XML, a test case for each rule.
    type: path
attributes:
  check_mode:
    description: Does the same, but keeps nothing beside the inventory.
    support: full
"""

EXAMPLES = r"""
- name: Check the inventory before any host is touched
  millrace.streaming.cluster:
    junit: problems.xml
  run_once: true
"""

RETURN = r"""
problems:
  description: The errors, each with C(rule), C(severity), C(where), C(what), C(why), C(fix),
    C(hosts), and the files and lines as C(places). A failed task shows them, and has them in its
    result only with C(-v), since Ansible shows that too.
  returned: when the task has not failed, or with C(-v)
  type: list
  elements: dict
notes:
  description: The warnings, in the same form.
  returned: when the task has not failed, or with C(-v)
  type: list
  elements: dict
"""
