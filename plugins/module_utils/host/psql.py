"""PostgreSQL's own client on the server's host, as the superuser."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from .as_user import as_user, last_output
from .retry import retried

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "socket": {"type": "path", "required": True},
    "port": {"type": "int", "required": True},
    "user": {"type": "str", "required": True},
}
"""The options of a module by which it reaches the server."""
_POLL_SECONDS = 0.5


class PsqlError(Exception):
    """The server did not answer, or refused a statement; the message is what `psql` says."""


class Psql:
    """The server at a socket, by the options of a module."""

    def __init__(self, module: AnsibleModule) -> None:
        """Take the options."""
        options = module.params
        self._user = options["user"]
        self._command = ["psql", "--no-psqlrc", "--no-password", "--tuples-only", "--no-align"]
        self._command += ["--quiet", "--set=ON_ERROR_STOP=1", f"--host={options['socket']}"]
        self._command += [f"--port={options['port']}"]

    def run(self, database: str, statements: str) -> list[str]:
        """Run statements in a database, and return the lines of their results.

        Raises:
            PsqlError: the server is not there, or refuses one; those before it are done.

        """
        command = as_user(self._user, self._user, [*self._command, f"--dbname={database}"])
        # Not among the arguments, which everybody on the host can read. Ansible's own way to run a
        # command fails when it ends before it has read them, as it does without a server.
        try:
            done = subprocess.run(
                command,
                input=statements,
                capture_output=True,
                check=False,
                encoding="utf-8",
                errors="replace",  # messages have the language and the encoding of the server
                cwd="/",
            )
        except OSError as error:
            raise PsqlError(str(error)) from error
        if done.returncode:
            raise PsqlError(last_output(done.stdout, done.stderr))
        return [line for line in done.stdout.splitlines() if line]

    def wait(self, database: str, seconds: float) -> None:
        """Wait until the server answers.

        Raises:
            PsqlError: it does not within `seconds`.

        """
        retried(lambda: self.run(database, "SELECT 1"), PsqlError, seconds, _POLL_SECONDS)
