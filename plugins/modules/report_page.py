#!/usr/bin/python
"""Documentation of the action report_page, which runs on the control node."""

DOCUMENTATION = r"""
module: report_page
short_description: Write a page that shows a cluster
description:
  - Writes one HTML file on the control node that needs no other, from the results of
    M(millrace.streaming.report_host) and M(millrace.streaming.report_parts). Hosts and services
    without a result are shown as such.
options:
  hosts:
    description: Variable in which M(millrace.streaming.report_host) was registered.
    type: str
    required: true
  parts:
    description: Variable in which M(millrace.streaming.report_parts) was registered.
    type: str
    required: true
  path:
    description: File on the control node for the page.
    type: path
    required: true
attributes:
  check_mode:
    description: Changes no host, so it does the same.
    support: full
"""

RETURN = r"""
problems:
  description: The hosts and services that were not reached, and what is wrong with the others.
  returned: success
  type: list
  elements: str
"""
