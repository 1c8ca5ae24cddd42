#!/usr/bin/python
"""Documentation of the action rotate_certificates, which runs on the control node."""

DOCUMENTATION = r"""
module: rotate_certificates
short_description: Make new keys of hosts, or bring the next phase of a change of the CA
description:
  - Changes only the secrets beside the inventory. M(millrace.streaming.cluster) and the
    roles bring them to the hosts, in the same run or in any later one.
  - CAs are changed in three phases. With C(trust) hosts trust the former and the new CAs, with
    C(leaves) they have certificates of the new ones, with C(finish) they trust these alone. A task
    enters one phase, and the same one again until a task with O(complete) has recorded that all
    hosts have it.
options:
  what:
    description: Whether to make new keys and certificates of the hosts of the play, or to change
      the CA.
    type: str
    choices: [keys, ca]
    default: keys
  authorities:
    description: Which CAs to change, that of Kafka and its clients, that of the REST interface of
      Kafka Connect and databases, or those of ZooKeeper's members and clients. The default is all
      that there are. A change that is under way is of those with which it began.
    type: list
    elements: str
    choices: [kafka, connect, zookeeper]
    default: []
  back:
    description: Go one phase back instead, from C(leaves) to C(trust), and from there to the former
      CA alone.
    type: bool
    default: false
  complete:
    description: Record that all hosts have what a former task of the run has brought.
    type: bool
    default: false
attributes:
  check_mode:
    description: Writes nothing; later tasks of the run see what it would have made.
    support: full
"""

EXAMPLES = r"""
- name: Begin or continue the change of the CA
  millrace.streaming.rotate_certificates:
    what: ca
  run_once: true
"""

RETURN = r"""
msg:
  description: What the run brings, or after O(complete) what to do before the next one.
  returned: always
  type: str
phase:
  description: The phase of the change of the CA.
  returned: with O(what=ca)
  type: str
"""
