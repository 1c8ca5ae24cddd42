#!/usr/bin/python
"""Documentation of the action host_needs, which runs on the control node."""

DOCUMENTATION = r"""
module: host_needs
short_description: What a host needs besides files, by what was found on it
description:
  - Compares what the inventory wants with what M(millrace.streaming.preflight) has found on the
    host, which the entry point C(inspect) of the role C(host) registers. Returns the packages of
    Java, of the time service and of nftables that are missing, and by their role those of
    exporters, Prometheus and Alertmanager. Also returns the lines of a shell script that loads the
    kernel settings and mounts the file systems, and of one that loads the firewall.
attributes:
  check_mode:
    description: Changes no host, so it does the same.
    support: full
"""

RETURN = r"""
needed:
  description: Whether there is anything but packages of Java and of monitoring.
  returned: always
  type: bool
"""
