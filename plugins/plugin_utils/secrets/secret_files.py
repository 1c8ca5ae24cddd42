"""The files of the secrets: in clear text, or each encrypted by ansible-vault under the same name.

What a CA of the site signs, and what it has signed, is no secret and is never encrypted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ansible.errors import AnsibleActionFail

from ...module_utils.host.files import write_own
from ..cluster.secret_store import Cipher

REQUESTS, SIGNED = "requests", "signed"
"""The directories of what is exchanged with a CA of the site; signing_requests.py has more."""
VARIABLE = "kafka_secrets_store"
VAULT, FILES = "vault", "files"
FORMS = {
    VAULT: "all secrets are encrypted by ansible-vault",
    FILES: "all secrets are in clear text",
}
PLAYBOOK = "secrets_store.yml"
IGNORED = ".gitignore"
_HEADER = b"$ANSIBLE_VAULT;"
# What git leaves out of the repository of an inventory: all, or a lock and drafts.
_IGNORED = {FILES: "*\n", VAULT: ".*\n!.gitignore\n"}
_DRAFT = ".moving"
# What a run leaves that was killed while it wrote a file.
_LEFT = re.compile(r"\..+(?:\.moving|\.millrace-new)")


class SecretsStateError(AnsibleActionFail):
    """Secrets that cannot be read as they are kept: the `problem`, and the `fix`."""

    def __init__(self, problem: str, fix: str) -> None:
        """Say both."""
        super().__init__(f"{problem}; {fix}")  # type: ignore[no-untyped-call]  # ansible-core gives it no types
        self.problem, self.fix = problem, fix


@dataclass(frozen=True)
class SecretFiles:
    """The files of a directory, in clear text without a cipher."""

    directory: Path
    cipher: Cipher | None = field(default=None, repr=False)

    @property
    def kind(self) -> str:
        """Their form, as the variable names it."""
        return VAULT if self.cipher else FILES

    def texts(self) -> dict[str, str]:
        """Return all but those that wait for a CA of the site, by their names.

        Raises:
            AnsibleActionFail: one cannot be read, or some are encrypted and others are not.

        """
        contents = {
            name: content
            for name, content in read_all(self.directory).items()
            if Path(name).parts[0] not in (REQUESTS, SIGNED) or is_request_key(name)
        }
        self._refuse_others(contents)
        return {
            name: self.text(name, content)
            for name, content in contents.items()
            if not is_request_key(name)
        }

    def read(self, name: str) -> str:
        """Return one of them, empty where it is not there.

        Raises:
            AnsibleActionFail: it is not kept as it should be.

        """
        path = self.directory / name
        content = path.read_bytes() if path.is_file() else b""
        if content and not is_public(name):
            self._refuse_others({name: content})
            if self.cipher:
                return self.text(name, content)
        return content.decode(errors="replace")

    def write(self, name: str, text: str) -> None:
        """Store one; an encrypted one that has this text stays as it is, so that git sees none."""
        path = self.directory / name
        if self.cipher and not is_public(name):
            if path.is_file() and self.read(name) == text:
                return
            text = self.cipher.encrypt(text)
        _make(path.parent)
        write_own(path, text)

    def remove(self, name: str) -> None:
        """Remove one, if it is there."""
        (self.directory / name).unlink(missing_ok=True)

    def make(self) -> None:
        """Make the directory, which only its owner can enter."""
        _make(self.directory)

    def prepare(self) -> None:
        """Keep what must not be committed out of the site's repository."""
        path = self.directory / IGNORED
        present = path.read_text(encoding="utf-8") if path.is_file() else ""
        if not present or present == _IGNORED[FILES if self.cipher else VAULT]:
            write_own(path, _IGNORED[self.kind])
        if self.cipher:
            self.sweep()

    def refuse_open_to_git(self) -> None:
        """Refuse a file of the site's own by which git would commit what is in clear text.

        Raises:
            SecretsStateError: says what to write there.

        """
        path = self.directory / IGNORED
        present = path.read_text(encoding="utf-8") if path.is_file() else ""
        lines = [line.strip() for line in present.splitlines()]
        patterns = [line for line in lines if line and not line.startswith("#")]
        if present != _IGNORED[VAULT] and patterns and patterns[-1] != "*":
            problem = f"{path} does not leave all of {self.directory} out of git"
            raise SecretsStateError(problem, "let its last line be *, or remove it")

    def sweep(self) -> None:
        """Remove what killed runs have left: of a move it may be clear text."""
        for path in [*self.directory.rglob(".*")]:
            if path.is_file() and _LEFT.fullmatch(path.name):
                path.unlink()

    def text(self, name: str, content: bytes) -> str:
        """Return the text of a file with this content.

        Raises:
            AnsibleActionFail: it cannot be decrypted, or is no text.

        """
        try:
            return self.cipher.decrypt(content) if self.cipher else content.decode()
        except ValueError as error:
            message = f"the secret {self.directory / name} cannot be read: {error}"
            if self.cipher:
                raise SecretsStateError(message, _FIXES["unreadable"]) from None
            raise AnsibleActionFail(message) from error

    def _refuse_others(self, contents: Mapping[str, bytes]) -> None:
        """Refuse files that are not kept as the variable says."""
        others = [name for name in contents if is_encrypted(contents[name]) != bool(self.cipher)]
        if not others:
            return
        form = "in clear text" if self.cipher else "encrypted by ansible-vault"
        if len(others) < len(contents):
            verb = "is" if len(others) == 1 else "are"
            problem = f"{len(others)} of {len(contents)} secrets in {self.directory} {verb} {form}"
            problem += f": {', '.join(others[:3])}{', ...' if len(others) > 3 else ''}"
            raise SecretsStateError(problem, _FIXES["part"])
        problem = f"the secrets in {self.directory} are {form}, and {VARIABLE} is {self.kind}"
        raise SecretsStateError(problem, _FIXES[self.kind])


_FIXES = {
    "unreadable": (
        "give the vault password with which it was encrypted, and if that is the right one, "
        "restore the file from git or a backup"
    ),
    "part": (
        f"run {PLAYBOOK}, which brings all of them to the form that {VARIABLE} names; it also "
        "completes a move that was interrupted"
    ),
    VAULT: f"run {PLAYBOOK}, which encrypts them, or set {VARIABLE}: {FILES}",
    FILES: f"set {VARIABLE}: {VAULT}, or run {PLAYBOOK}, which decrypts them",
}


def is_public(name: str) -> bool:
    """Return whether a file is exchanged with a CA of the site, which is never encrypted."""
    folder = Path(name).parts[0]
    return folder == SIGNED or (folder == REQUESTS and name.endswith(".csr"))


def is_request_key(name: str) -> bool:
    """Return whether a file is the key of a certificate that a CA of the site has to sign."""
    return Path(name).parts[0] == REQUESTS and name.endswith(".key")


def is_encrypted(content: bytes) -> bool:
    """Return whether ansible-vault has encrypted what begins so."""
    return content.startswith(_HEADER)


def read_all(directory: Path) -> dict[str, bytes]:
    """Return the files of secrets by their names, as they are on the disk.

    Raises:
        AnsibleActionFail: one cannot be read.

    """
    contents: dict[str, bytes] = {}
    for path in sorted(directory.rglob("*")):
        try:
            if path.is_file() and not path.name.startswith("."):
                contents[str(path.relative_to(directory))] = path.read_bytes()
        except OSError as error:
            message = f"the secret {path} cannot be read: {error}"
            raise AnsibleActionFail(message) from error
    return contents


def move(files: SecretFiles, reader: Cipher | None, *, store: bool) -> list[str]:
    """Bring all files to the form of `files`, and return the names of those that were not.

    `reader` decrypts those that are encrypted. First each has a draft beside it in the new form;
    only when all drafts can be read do they replace the files, one by one. A move that is
    interrupted leaves some files in each form, which every run refuses, and is completed by
    another move. The caller has locked the directory.

    Raises:
        AnsibleActionFail: a file cannot be decrypted, or git would take clear text; nothing was
            changed.
        OSError: a file cannot be written.

    """
    directory = files.directory
    contents = {name: c for name, c in read_all(directory).items() if not is_public(name)}
    source = {True: SecretFiles(directory, reader or files.cipher), False: SecretFiles(directory)}
    texts = {
        name: source[is_encrypted(content)].text(name, content)
        for name, content in contents.items()
        if is_encrypted(content) != bool(files.cipher)
    }
    # One that is in its form already must be readable, too.
    for name in contents.keys() - texts.keys():
        files.text(name, contents[name])
    if not files.cipher and texts:
        files.refuse_open_to_git()
    if not store:
        return sorted(texts)
    if not files.cipher:
        files.prepare()  # before there is clear text that could be committed
        for path in (directory, *(path for path in directory.rglob("*") if path.is_dir())):
            path.chmod(0o700)
    files.sweep()
    drafts = {name: str(Path(name).with_name(f".{Path(name).name}{_DRAFT}")) for name in texts}
    for name, text in texts.items():
        files.write(drafts[name], text)
    for name, text in texts.items():
        if files.read(drafts[name]) != text:
            message = f"{directory / drafts[name]} is not what was written; nothing was changed"
            raise AnsibleActionFail(message)
    for name, draft in drafts.items():
        (directory / draft).replace(directory / name)
        _sync((directory / name).parent)
    files.prepare()
    return sorted(texts)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _make(directory: Path) -> None:
    """Make a directory that only its owner can enter, and those above it that are missing."""
    if not directory.is_dir():
        _make(directory.parent)
        directory.mkdir(mode=0o700, exist_ok=True)
