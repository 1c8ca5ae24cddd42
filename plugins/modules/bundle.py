#!/usr/bin/python
"""Documentation of the action bundle, which runs on the control node."""

DOCUMENTATION = r"""
module: bundle
short_description: Write one file with all that a control node in a closed network needs
description:
  - Writes a tar file with what M(millrace.streaming.artifacts) has packed for the inventory, the
    wheels of C(requirements/control-node.txt) for this Python and architecture, and the
    collection. With them are the lists of the packages of the system that hosts need, the parts as
    CycloneDX files, all sums, and C(install.sh).
  - It has no inventory and no secret.
  - The same parts make the same file; one that does not differ is not written again.
options:
  path:
    description: The file. Its directory is created, and its sha256 is written beside it, with
      C(.sha256) at the end of the name.
    type: path
    required: true
attributes:
  check_mode:
    description: Makes all parts, reports the same change as the real run and writes nothing.
    support: full
"""

EXAMPLES = r"""
- name: Write the bundle
  millrace.streaming.bundle:
    path: build/millrace-bundle.tar
  run_once: true
"""

RETURN = r"""
path:
  description: The file.
  returned: success
  type: str
sha256:
  description: Its sum.
  returned: success
  type: str
parts:
  description: The names of the files in it.
  returned: success
  type: list
  elements: str
"""
