#!/usr/bin/python
"""Documentation of the action certificate_requests, which runs on the control node."""

DOCUMENTATION = r"""
module: certificate_requests
short_description: Write the requests that an outside CA has to sign, or take in what it has signed
description:
  - Makes what C(site.yml) makes on the control node, among it a request for each certificate that
    is missing, not as the inventory wants it, or ends within 30 days.
  - Without O(signed) it writes all requests that wait, and a table of them, into a directory. Their
    keys stay with the secrets.
  - With O(signed) it finds the certificate of each request by its public key, completes its chain,
    checks it, and keeps it with its key. Fails at the end if one was refused or is missing; the
    others are kept.
  - Refuses an inventory with the key of the CA, and without a CA of the site.
options:
  path:
    description: Directory for the requests, C(HOST-KIND.csr), and for C(requests.json), a list with
      C(host), C(kind), C(file), C(common_name), C(names), C(addresses) and C(purposes) of each.
      Requests that an earlier run has written there and that wait no longer are removed.
    type: path
    required: true
  signed:
    description: File or directory with certificates in PEM, in any order and of any names. It is
      refused if there is a private key in it. Of several certificates for a request the newest is
      used that can be.
    type: path
attributes:
  check_mode:
    description: Says the same, and writes nothing.
    support: full
"""

EXAMPLES = r"""
- name: Write the requests
  millrace.streaming.certificate_requests:
    path: build/certificate_requests
  run_once: true

- name: Take in what the CA has signed
  millrace.streaming.certificate_requests:
    path: build/certificate_requests
    signed: build/signed
  run_once: true
"""

RETURN = r"""
requests:
  description: The requests that wait, as in C(requests.json).
  returned: always
  type: list
  elements: dict
"""
