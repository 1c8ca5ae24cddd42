"""Secrets that ansible-vault encrypts, file by file, and the move there and back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.module_utils.host import files
from ansible_collections.millrace.streaming.plugins.plugin_utils.ansible_internals import Vault
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import ca_change
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import (
    Cluster,
    resolve,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import Secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import (
    authorities,
    secret_files,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import store as secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.secret_files import (
    SecretFiles,
    SecretsStateError,
)

from tests.unit.outside_authority import OutsideCa
from tests.unit.secrets.kept_secrets import closed

VAULT = Vault((("site", b"correct horse"),))
OTHER = Vault((("site", b"battery staple"),))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "inventory/.secrets"


def cluster(directory: Path, cipher: Vault | None = VAULT, **variables: Any) -> Cluster:
    """Return a closed cluster with what its directory holds."""
    inventory = closed(directory.parent / "none", **variables).inventory
    return resolve(replace(inventory, secrets=secrets.read(directory, cipher)))


def complete(directory: Path, cipher: Vault | None = VAULT, *, store: bool = True) -> Secrets:
    """Do what site.yml does."""
    return secrets.complete(cluster(directory, cipher), None, store=store)


def contents(directory: Path) -> dict[str, bytes]:
    return secret_files.read_all(directory)


def in_clear_text(directory: Path) -> list[str]:
    """The files that are no vault."""
    return [name for name, content in contents(directory).items() if b"$ANSIBLE" not in content]


def move(directory: Path, cipher: Vault | None, *, store: bool = True) -> list[str]:
    """Do what secrets_store.yml does."""
    desired = SecretFiles(directory, cipher)
    with secrets.locked(desired):
        return secret_files.move(desired, VAULT, store=store)


def test_every_file_is_encrypted_and_read_again(directory: Path) -> None:
    made = complete(directory)
    assert {"ca.key", "ca.pem", "store.json", "passwords/admin"} <= contents(directory).keys()
    assert in_clear_text(directory) == []
    assert secrets.read(directory, VAULT) == made
    assert made.passwords["admin"]
    assert made.mode == 0


def test_an_unchanged_secret_is_not_written_again(directory: Path) -> None:
    """Each encryption has other bytes, which git would show as a change."""
    complete(directory)
    before = contents(directory)
    complete(directory)
    assert contents(directory) == before
    secrets.replace(directory, ["admin"], [], store=True, cipher=VAULT)
    after = contents(directory)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {"passwords/admin", "store.json"}


def test_git_takes_the_secrets_and_leaves_out_the_lock(directory: Path) -> None:
    complete(directory)
    assert (directory / ".gitignore").read_text() == ".*\n!.gitignore\n"


def test_the_id_of_the_vault_is_in_the_file(directory: Path) -> None:
    two = Vault((("dev", b"one"), ("prod", b"two")), "prod")
    complete(directory, two)
    assert (directory / "ca.key").read_text().startswith("$ANSIBLE_VAULT;1.2;AES256;prod\n")
    assert secrets.read(directory, Vault((("default", b"two"),))).passwords


def test_check_mode_writes_nothing(directory: Path) -> None:
    assert complete(directory, store=False).passwords
    assert not directory.exists()


@pytest.mark.parametrize("damage", ["password", "half a file", "no vault"])
def test_what_cannot_be_decrypted_is_named(directory: Path, damage: str) -> None:
    complete(directory)
    file = directory / "passwords/admin"
    if damage != "password":
        text = file.read_text()
        file.write_text(text[: len(text) // 2] if damage == "half a file" else "$ANSIBLE_VAULT;?\n")
    before = contents(directory)
    cipher = OTHER if damage == "password" else VAULT
    name = "ca.key" if damage == "password" else "passwords/admin"
    with pytest.raises(SecretsStateError, match=f"{name} cannot be read.*give the vault password"):
        secrets.read(directory, cipher)
    with (
        pytest.raises(AnsibleError, match=name),
        secrets.lock(directory, store=True, cipher=cipher),
    ):
        pass
    assert contents(directory) == before


@pytest.mark.parametrize(
    ("kept", "read", "words"),
    [
        (None, VAULT, "in clear text, and kafka_secrets_store is vault; run secrets_store.yml"),
        (VAULT, None, "encrypted by ansible-vault, and kafka_secrets_store is files; set"),
    ],
)
def test_another_form_is_refused(
    directory: Path, kept: Vault | None, read: Vault | None, words: str
) -> None:
    complete(directory, kept)
    before = contents(directory)
    with pytest.raises(SecretsStateError, match=words):
        secrets.read(directory, read)
    with pytest.raises(SecretsStateError), secrets.lock(directory, store=True, cipher=read):
        pass
    assert contents(directory) == before


@pytest.mark.parametrize("cipher", [VAULT, None])
def test_one_file_in_another_form_is_named(directory: Path, cipher: Vault | None) -> None:
    complete(directory)
    text = SecretFiles(directory, VAULT).read("passwords/admin")
    (directory / "passwords/admin").write_text(text)
    with pytest.raises(
        SecretsStateError, match=r"run secrets_store.yml.* completes a move"
    ) as error:
        secrets.read(directory, cipher)
    number = len(contents(directory))
    beginning = f"1 of {number}" if cipher else f"{number - 1} of {number}"
    assert error.value.problem.startswith(beginning)
    assert error.value.problem.endswith("clear text: passwords/admin" if cipher else ", ...")


def test_a_move_there_and_back_keeps_all(directory: Path) -> None:
    """It is no new generation: hosts need not record it."""
    made = complete(directory, None)
    before = contents(directory)
    assert move(directory, VAULT) == sorted(before)
    assert in_clear_text(directory) == []
    encrypted = secrets.read(directory, VAULT)
    assert (encrypted, encrypted.store) == (made, made.store)
    assert move(directory, VAULT) == []
    assert move(directory, None, store=False) == sorted(before)
    assert in_clear_text(directory) == []
    (directory / "passwords").chmod(0o755)  # as git makes it
    assert move(directory, None) == sorted(before)
    assert contents(directory) == before
    assert (directory / ".gitignore").read_text() == "*\n"
    assert (directory / "passwords").stat().st_mode & 0o777 == 0o700
    assert complete(directory, None).store == made.store


class KilledError(BaseException):
    """Stands for the end of a run that cannot clean up."""


@dataclass
class Fuse:
    """Ends a move before or after it writes or replaces a file."""

    left: int = -1
    """After how many of these moments; never if that is negative."""

    def around(self, change: Callable[..., object]) -> Callable[..., None]:
        """Return a change with such a moment before it and after it."""

        def changed(*args: object) -> None:
            self.step()
            change(*args)
            self.step()

        return changed

    def step(self) -> None:
        if self.left == 0:
            raise KilledError
        self.left -= 1


@pytest.mark.parametrize("target", [VAULT, None])
def test_a_move_that_is_killed_loses_nothing_and_is_completed(
    directory: Path, monkeypatch: pytest.MonkeyPatch, target: Vault | None
) -> None:
    """Whenever it ends, runs read all secrets or refuse them, and another move completes it."""
    source = None if target else VAULT
    for name in ("ca.key", "passwords/admin"):
        made = secrets.keep(directory, name, f"text of {name}", source)
    original, fuse = directory.with_name("original"), Fuse()
    directory.rename(original)
    monkeypatch.setattr(secret_files, "write_own", fuse.around(files.write_own))
    monkeypatch.setattr(Path, "replace", fuse.around(Path.replace))
    for moment in range(1000):
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(original, directory)
        fuse.left = moment
        try:
            move(directory, target)
            break
        except KilledError:
            fuse.left = -1
        refused = [_is_refused(directory, cipher, made) for cipher in (source, target)]
        assert any(refused)
        if in_clear_text(directory):  # git would commit none of it
            assert (directory / ".gitignore").read_text() == "*\n"
        move(directory, target)
        assert secrets.read(directory, target) == made
        assert {path.name for path in directory.rglob(".*")} == {".lock", ".gitignore"}
    assert moment > 4 * len(contents(directory))


def _is_refused(directory: Path, cipher: Vault | None, made: Secrets) -> bool:
    """Return whether a run refuses the secrets, and says what to do; if not, it has all of them."""
    try:
        present = secrets.read(directory, cipher)
    except SecretsStateError as error:
        return "secrets_store.yml" in error.fix
    assert present == made
    return False


def test_what_a_killed_move_has_left_in_clear_text_is_removed_by_the_next_run(
    directory: Path,
) -> None:
    complete(directory)
    left = [directory / "passwords/.admin.moving", directory / ".ca.key.millrace-new"]
    for path in left:
        path.write_text("clear text")
    (directory / ".gitignore").write_text("*\n")
    (directory / ".vimrc").write_text("")
    complete(directory)
    assert not any(path.exists() for path in left)
    assert (directory / ".vimrc").exists()
    assert (directory / ".gitignore").read_text() == ".*\n!.gitignore\n"


@pytest.mark.parametrize("own", [".*\n!.gitignore\n*.bak\n", "*\n!passwords/**\n"])
def test_clear_text_is_not_given_to_git_by_lines_of_the_site(directory: Path, own: str) -> None:
    complete(directory)
    ignored, before = directory / ".gitignore", contents(directory)
    ignored.write_text(own)
    for store in (False, True):
        with pytest.raises(SecretsStateError, match=r"let its last line be \*"):
            move(directory, None, store=store)
    assert (contents(directory), ignored.read_text()) == (before, own)
    ignored.write_text(f"{own}# all\n*\n")
    assert move(directory, None)


def test_a_move_without_the_password_changes_nothing(directory: Path) -> None:
    complete(directory)
    before = contents(directory)
    with pytest.raises(SecretsStateError), secrets.locked(SecretFiles(directory)):
        secret_files.move(SecretFiles(directory), OTHER, store=True)
    # Nor is a file encrypted by a password that does not decrypt the others.
    (directory / "passwords/admin").write_text("clear text")
    with pytest.raises(SecretsStateError), secrets.locked(SecretFiles(directory)):
        secret_files.move(SecretFiles(directory, OTHER), OTHER, store=True)
    assert contents(directory) == {**before, "passwords/admin": b"clear text"}


def test_an_outside_authority_gets_requests_and_their_keys_are_encrypted(directory: Path) -> None:
    outside = OutsideCa.new("Site")
    site = outside.given
    with pytest.raises(AnsibleError, match="must sign these requests"):
        secrets.complete(cluster(directory), site, store=True)
    clear = in_clear_text(directory)
    assert {Path(name).suffix for name in clear} == {".csr"}
    for name in clear:
        signed = directory / name.replace("requests", "signed").replace(".csr", ".pem")
        signed.parent.mkdir(parents=True, exist_ok=True)
        signed.write_text(outside.sign((directory / name).read_text()))
    made = secrets.complete(cluster(directory), site, store=True)
    assert len(made.certificates) == 3
    assert in_clear_text(directory) == []
    assert not [path for path in (directory / "requests").rglob("*") if path.is_file()]


def test_a_key_that_waits_in_clear_text_is_not_given_to_git(directory: Path) -> None:
    with pytest.raises(AnsibleError, match="must sign these requests"):
        secrets.complete(cluster(directory, None), OutsideCa.new("Site").given, store=True)
    waiting = {name for name in contents(directory) if name.endswith(".key")}
    for name in contents(directory).keys() - waiting:
        if not secret_files.is_public(name):
            (directory / name).write_text(VAULT.encrypt((directory / name).read_text()))
    ignored = (directory / ".gitignore").read_text()
    assert waiting
    assert ignored == "*\n"
    with pytest.raises(SecretsStateError, match=r"secrets in .* are in clear text: requests/"):
        complete(directory)
    assert (directory / ".gitignore").read_text() == ignored


def test_a_change_of_the_authority_goes_on_in_another_clone(
    directory: Path, tmp_path: Path
) -> None:
    """Phase 1 in one checkout, the next ones in others; each is a commit of encrypted files."""
    complete(directory)
    phases = []
    for number in range(3):
        place = tmp_path / f"clone{number}/.secrets"
        shutil.copytree(directory, place, ignore=shutil.ignore_patterns(".lock"))
        secrets.complete(
            cluster(place),
            None,
            store=True,
            step=lambda stored: authorities.enter(stored, None, "", back=False),
        )
        present = secrets.read(place, VAULT)
        with secrets.lock(place, store=True, cipher=VAULT):
            phases.append(authorities.end_phase(present, ca_change.current(present)).phase)
        assert in_clear_text(place) == []
        directory = place
    assert phases == [ca_change.TRUST, ca_change.LEAVES, ca_change.FINISH]
    assert not (directory / "ca_change.json").exists()
    assert complete(directory).store == secrets.read(directory, VAULT).store
