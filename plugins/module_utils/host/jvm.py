"""What the Java of a host says about options: it is started with them, shows its version, and ends.

Nothing of that stays on the host: the options are those that `jvm_options.asked` of the control
node leaves, the JVM takes little memory, runs as nobody, and writes at most into a directory that
is removed.
"""

from __future__ import annotations

import os
import pwd
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from ..formats.values import one_line

ACCOUNT = "nobody"
SECONDS = 30
"""Until a JVM that has not ended is killed."""
AT_ONCE = 4
# Of two such options Java takes the last.
HARMLESS = (
    # Only these 8 MiB become memory: what -Xmx reserves are addresses.
    "-Xms8m",
    "-Xmx1g",
    "-XX:-AlwaysPreTouch",
    "-XX:-UseLargePages",
    # No files, also none of a JVM that ends early.
    "-XX:-UsePerfData",
    "-XX:-HeapDumpOnOutOfMemoryError",
    "-XX:-CreateCoredumpOnCrash",
    "-XX:ErrorFile=crash.log",
    # It has judged the -Xlog before these by then; what they would log is not wanted.
    "-Xlog:disable",
    "-Xlog:all=error:stderr",
)
_OUT_OF_MEMORY = re.compile("insufficient memory|Could not (?:reserve|allocate)")
# What Java says in any case, and what it only warns of.
_FRAME = re.compile(
    r"Error: Could not create the Java Virtual Machine\."
    r"|Error: A fatal exception has occurred\. Program will exit\."
    r"|Error occurred during initialization of (?:VM|boot layer)"
    r"|^.* warning: .*$|^\[[^]]*\]\[warning.*$"
    r"|^\[[^]]*\]\[error *\]\[[^]]*\] ?",
    re.MULTILINE,
)
LONGEST = 500
"""Letters of a message."""


def refusals(home: str, lists: Sequence[str]) -> dict[str, str]:
    """Return those lists of options that the Java of a home refuses, each with its message.

    Nothing can be said where it cannot be started, does not end in time, or refuses to show its
    version even without options; and where there is no such account or no room for a directory.
    """
    try:
        directory = tempfile.mkdtemp(prefix="millrace-java-")
    except OSError:
        return {}
    try:
        return _refusals(home, lists, directory)
    except (KeyError, OSError):  # of the account, or of its directory
        return {}
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _refusals(home: str, lists: Sequence[str], directory: str) -> dict[str, str]:
    # Only what is in it is nobody's, so that nobody can put another directory in its place.
    Path(directory).chmod(0o755)
    work = Path(directory, "work")
    work.mkdir(0o700)
    ask = partial(_refusal, f"{home}/bin/java", _account(str(work)), str(work))
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        answers = dict(zip(lists, pool.map(ask, lists)))
    refused = {options: message for options, message in answers.items() if message}
    return {} if refused and ask("") else refused


def complaint(output: str) -> str:
    """Return in one line what Java finds wrong, without what it says in any case."""
    return one_line(_FRAME.sub(" ", output))[:LONGEST]


def _account(directory: str) -> dict[str, Any]:
    """Return how to start a program as nobody, to whom the directory is given; not without root."""
    if os.geteuid():
        return {}
    account = pwd.getpwnam(ACCOUNT)
    os.chown(directory, account.pw_uid, account.pw_gid)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _refusal(java: str, account: dict[str, Any], directory: str, options: str) -> str:
    """Return what Java says against options, empty if it takes them or says nothing of use."""
    try:
        # Behind -version it would read no further option.
        command = [java, *shlex.split(options), *HARMLESS, "-version"]
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd=directory,
            # Without the variables with which Java takes options from its environment.
            env={"LC_ALL": "C"},
            timeout=SECONDS,
            check=False,
            **account,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):  # a NUL cannot be in an argument
        return ""
    # With 1 it ends by itself; by a signal, or with 134 after a crash, it was not the options.
    is_of_options = done.returncode == 1 and not _OUT_OF_MEMORY.search(done.stdout)
    return complaint(done.stdout) if is_of_options else ""
