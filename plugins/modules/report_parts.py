#!/usr/bin/python
"""Documentation of the action report_parts, which calls other modules."""

DOCUMENTATION = r"""
module: report_parts
short_description: Read the services of a cluster, each on one host
extends_documentation_fragment: [millrace.streaming.check_mode]
description:
  - Reads each service of the inventory on the first host of it that was reached, with the module
    that checks its health; of Kafka all that M(millrace.streaming.kafka_contents) gives. Nothing
    that it finds fails the task.
options:
  reached:
    description: Variable in which a task of M(millrace.streaming.report_host) was registered.
    type: str
    required: true
  seconds:
    description: How long all services that this host reads may take together. One of them may take
      60 percent of it. What does not answer is left out. By default each may take as long as it
      does.
    type: float
    default: 0
"""

RETURN = r"""
parts:
  description: Service -> result of its module, of the services that this host has read.
  returned: always
  type: dict
"""
