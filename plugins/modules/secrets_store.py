#!/usr/bin/python
"""Documentation of the action secrets_store, which runs on the control node."""

DOCUMENTATION = r"""
module: secrets_store
short_description: Bring the secrets to the form that kafka_secrets_store names
description:
  - Encrypts each file in the directory of secrets by ansible-vault, or decrypts all of them. Each
    file gets a draft in its new form, and only when all drafts can be read do they replace the
    files. A move that was interrupted is completed by another one; until then runs refuse the
    secrets.
  - Refuses to decrypt files that git tracks, files that the vault passwords of the run do not
    decrypt, and to encrypt without the password of one vault. Then nothing is changed.
attributes:
  check_mode:
    description: The files are read, also those that are decrypted, and nothing is written.
    support: full
"""

EXAMPLES = r"""
- name: Move the secrets
  millrace.streaming.secrets_store:
  run_once: true
"""

RETURN = r"""
"""
