"""The record that a host has of the secrets with which it was deployed."""

from __future__ import annotations

DIRECTORY = "/var/lib/millrace"
RECORD = f"{DIRECTORY}/secrets.json"
"""Where a host has it; root alone may read it."""
