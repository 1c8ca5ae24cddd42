#!/usr/bin/python
"""Documentation of the action host_needs, which runs on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_needs
short_description: What a host needs besides files, by what was found on it
version_added: 0.3.0
description:
  - Compares what the inventory wants with what M(millrace.streaming.preflight) has found on the
    host, which the entry point C(inspect) of the role C(host) registers.
attributes:
  check_mode:
    description: Changes no host, so it does the same.
    support: full
  diff_mode:
    description: Changes no host.
    support: none
author:
  - Millrace (@millrace)
"""

EXAMPLES = r"""
- name: See which package brings Java
  millrace.streaming.host_needs:
  register: needs

- name: Install it
  ansible.builtin.package:
    name: "{{ needs.java_package }}"
    use: "{{ needs.package_manager }}"
  when: needs.java_package | length > 0
"""

RETURN = r"""
java_package:
  description: Package that brings Java; empty where Java is there.
  returned: success
  type: str
time_package:
  description: Package of the time service to install; empty where one runs or none is wanted.
  returned: success
  type: str
time_unit:
  description: Unit of that time service.
  returned: success
  type: str
commands:
  description: Lines of a shell script that loads the kernel settings and mounts the file systems.
    It prints C(mounted) for each that it mounts.
  returned: success
  type: list
  elements: str
package_manager:
  description: The package manager of the host's distribution, for M(ansible.builtin.package).
  returned: success
  type: str
"""
