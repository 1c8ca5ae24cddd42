"""The generations of a directory of secrets: each change is one, and a copy is known by them."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.module_utils.host import secret_record
from ansible_collections.millrace.streaming.plugins.plugin_utils import operation
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import secret_store
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import resolve
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import Secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.secret_store import (
    Generation,
    Store,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import secret_files
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import store as secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.secret_files import (
    SecretFiles,
)

from tests.unit.cluster import small
from tests.unit.secrets.kept_secrets import closed, stored

KAFKA = ["kafka"]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "inventory/.secrets"


def complete(directory: Path, *, store: bool = True) -> Secrets:
    """What site.yml does."""
    return secrets.complete(closed(directory), None, store=store)


def rotate(directory: Path, *users: str, store: bool = True) -> Secrets:
    return secrets.replace(directory, users, [], store=store)


def store_of(recorded: Secrets) -> Store:
    assert recorded.store
    return recorded.store


def deployed(recorded: Secrets) -> Generation:
    """What a host has that was deployed with secrets."""
    generation = secret_store.deployed_with(json.loads(store_of(recorded).record(KAFKA)), KAFKA)
    assert generation
    return generation


def is_refused(recorded: Secrets, generation: Generation) -> bool:
    return not secret_store.contains(recorded.store, generation)


def test_a_directory_has_a_generation_from_the_first_run_on(directory: Path) -> None:
    made = complete(directory)
    assert deployed(made).number == 1
    assert deployed(made).by == operation.operator()
    assert store_of(complete(directory)) == store_of(made)
    assert store_of(secrets.read(directory)) == store_of(made)


def test_a_directory_without_secrets_has_none(directory: Path) -> None:
    with secrets.lock(directory, store=True):
        pass
    secrets.replaced(directory, ["admin"])
    assert secrets.read(directory).store is None
    deployment = small.kafka(1, 1, kafka_security="open")
    opened = replace(deployment.inventory, secrets=secrets.read(directory))
    assert resolve(opened).secrets_record("b1") == {}


def test_each_change_is_one(directory: Path) -> None:
    """Those of every kind, also by hand; the former ones are known."""
    generations = [deployed(complete(directory))]
    for change in (
        lambda: rotate(directory, "admin"),
        lambda: secrets.keep(directory, "security_change.json", '{"phase": "added"}'),
        lambda: (directory / "passwords/ledger").write_text("by hand"),
        lambda: (directory / "passwords/ledger").unlink(),
        lambda: (directory / "ca.key").write_text("by hand"),
    ):
        before = secrets.read(directory)
        change()
        with secrets.lock(directory, store=True):
            pass
        now = secrets.read(directory)
        assert is_refused(before, deployed(now))
        assert not any(is_refused(now, generation) for generation in generations)
        generations.append(deployed(now))
    assert len({generation.name for generation in generations}) == len(generations)
    assert [generation.number for generation in generations] == sorted(
        {generation.number for generation in generations}
    )


def test_an_older_copy_is_refused_also_after_a_run_has_changed_it(
    directory: Path, tmp_path: Path
) -> None:
    complete(directory)
    copy = tmp_path / "copy"
    shutil.copytree(directory, copy)
    newer = deployed(rotate(directory, "admin"))
    assert is_refused(secrets.read(copy), newer)
    (copy / "passwords/ledger").unlink()
    changed = complete(copy)
    assert deployed(changed).number >= newer.number
    assert is_refused(changed, newer)
    assert is_refused(secrets.read(directory), deployed(changed))


def test_a_lost_directory_is_another_one(directory: Path) -> None:
    former = deployed(complete(directory))
    shutil.rmtree(directory)
    assert is_refused(complete(directory), former)


def test_copies_from_before_there_were_generations_agree_on_the_first(
    directory: Path, tmp_path: Path
) -> None:
    complete(directory)
    (directory / secret_store.FILE).unlink()
    copy, second_copy = tmp_path / "copy", tmp_path / "other"
    shutil.copytree(directory, copy)
    shutil.copytree(directory, second_copy)
    (second_copy / "passwords/admin").write_text("newer")
    first = deployed(complete(directory))
    assert not is_refused(complete(copy), first)
    assert is_refused(complete(second_copy), first)
    (copy / "passwords/admin").write_text("newer by hand")
    assert is_refused(secrets.read(directory), deployed(complete(copy)))


def test_nothing_on_a_host_tells_of_the_secrets(directory: Path) -> None:
    recorded = complete(directory)
    text = store_of(recorded).record(KAFKA)
    assert not [secret for secret in stored(directory).values() if secret.strip() in text]
    assert store_of(recorded).digest not in f"{text}{recorded.store}"
    cluster = resolve(replace(closed(directory).inventory, secrets=recorded))
    entry = cluster.host_files("b1")[secret_record.RECORD]
    assert (entry["content"], entry["mode"]) == (text, "0600")


def test_check_mode_stores_nothing_and_shows_the_next_one(directory: Path) -> None:
    planned = complete(directory, store=False)
    assert deployed(planned).number == 1
    assert not directory.exists()
    made = complete(directory)
    assert store_of(complete(directory, store=False)) == store_of(made)
    assert deployed(rotate(directory, "admin", store=False)).number == 2
    assert store_of(secrets.read(directory)) == store_of(made)


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"generations": []}', '{"generations": [{}], "replacing": []}']
)
def test_a_damaged_one_is_named(directory: Path, text: str) -> None:
    complete(directory)
    (directory / secret_store.FILE).write_text(text)
    with pytest.raises(AnsibleError, match=secret_store.FILE):
        secrets.read(directory)


@pytest.mark.parametrize(
    "wrong",
    [
        *({key: value} for key in ("name", "made", "by") for value in (["a"], 7, "a\n", "a" * 300)),
        *({"number": value} for value in ("7", 0, True, 1.5, 2**31 + 1)),
    ],
    ids=str,
)
def test_a_record_that_a_host_has_made_up_is_none(wrong: dict[str, object]) -> None:
    record = {"name": "a", "number": 2**31, "made": "today", "by": "anna", "products": KAFKA}
    assert secret_store.deployed_with(record, KAFKA)
    assert secret_store.deployed_with({**record, **wrong}, KAFKA) is None


def test_a_generation_after_the_last_number_is_one_that_counts(directory: Path) -> None:
    foreign = Generation("x", secret_store.MOST_NUMBER, "today", "anna")
    complete(directory)
    recorded = secrets.accept(secrets.read(directory), [foreign], [], store=True)
    assert deployed(recorded) == store_of(recorded).generation


# Passwords that may replace others


def replacing(directory: Path) -> tuple[str, ...]:
    return store_of(secrets.read(directory)).replacing


def may_replace(directory: Path) -> set[str]:
    """The users whose password would replace that of Kafka."""
    (node, *_) = closed(directory).brokers
    return {user.name for user in node.security.users if node.security.may_replace(user)}


def test_a_rotated_password_may_replace_the_one_in_kafka_until_it_has(directory: Path) -> None:
    complete(directory)
    assert may_replace(directory) == set()
    rotate(directory, "admin", "ledger")
    assert may_replace(directory) == {"admin", "ledger"}
    assert store_of(complete(directory)).replacing == ("admin", "ledger")
    before = deployed(secrets.read(directory))
    secrets.replaced(directory, ["ledger"])
    assert replacing(directory) == ("admin",)
    secrets.replaced(directory, ["admin", "ledger"])
    assert may_replace(directory) == set()
    assert deployed(secrets.read(directory)) == before, "a copy of it is no older one"


def test_a_rotation_that_ends_before_it_has_stored_a_password_is_none(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one that ends right after it is completed by site.yml."""
    complete(directory)
    write = SecretFiles.write
    for allowed, marked in ((0, ()), (1, ("admin",)), (2, ("admin",))):
        former = stored(directory)["passwords/admin"]
        remaining = [allowed]

        def ended(
            files: SecretFiles, name: str, text: str, remaining: list[int] = remaining
        ) -> None:
            if not remaining[0]:
                raise KeyboardInterrupt
            remaining[0] -= 1
            write(files, name, text)

        monkeypatch.setattr(SecretFiles, "write", ended)
        with pytest.raises(KeyboardInterrupt):
            rotate(directory, "admin")
        monkeypatch.setattr(SecretFiles, "write", write)
        assert replacing(directory) == marked
        assert (stored(directory)["passwords/admin"] != former) == (allowed == 2)


def test_a_directory_that_is_accepted_comes_after_what_hosts_have(
    directory: Path, tmp_path: Path
) -> None:
    complete(directory)
    copy = tmp_path / "copy"
    shutil.copytree(directory, copy)
    rotate(directory, "admin")
    newer = deployed(rotate(directory, "admin"))
    older = secrets.read(copy)
    planned = secrets.accept(older, [newer], ["admin"], store=False)
    assert store_of(secrets.read(copy)) == store_of(older)
    accepted = secrets.accept(older, [newer], ["admin"], store=True)
    assert store_of(secrets.read(copy)) == store_of(accepted)
    for recorded in (planned, accepted):
        assert not is_refused(recorded, newer)
        assert deployed(recorded).number == newer.number + 1
        assert store_of(recorded).replacing == ("admin",)
    assert is_refused(secrets.read(directory), deployed(accepted)), "the other one is now older"
    assert complete(copy).store == accepted.store


def test_passwords_of_the_inventory_replace_all_others(directory: Path) -> None:
    user = {"name": "billing", "password": "of-a-vault"}
    (node, *_) = closed(directory, kafka_users=[user]).brokers
    assert {user.name for user in node.security.users if node.security.may_replace(user)} == {
        "billing"
    }


def test_what_cannot_be_written_is_named(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk ends the run with the file's name, whatever the run stores."""
    present = complete(directory)
    unknown = deployed(complete(directory.parent / "other"))
    rotate(directory, "admin")
    assert store_of(secrets.read(directory)).replacing

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(secret_files, "write_own", full)
    for change in (
        lambda: secrets.keep(directory, "security_change.json", "{}"),
        lambda: secrets.replaced(directory, ["admin"]),
        lambda: secrets.accept(present, [unknown], ["admin"], store=True),
    ):
        with pytest.raises(AnsibleError, match=f"{directory}/.* cannot be written.*No space left"):
            change()


def test_git_ignores_the_directory_and_a_file_of_the_site_stays(directory: Path) -> None:
    complete(directory)
    ignored = directory / secret_files.IGNORED
    assert ignored.read_text() == "*\n"
    ignored.write_text("*\n!README\n")
    rotate(directory, "admin")
    assert ignored.read_text() == "*\n!README\n"
