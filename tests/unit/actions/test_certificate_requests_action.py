"""The task that hands requests to a CA of the site, and takes in what it has signed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleError

from tests.unit.actions.clean_cluster import clean, run_checks, secret_files
from tests.unit.actions.test_rotate_certificates import deployed, deployed_outside, rotate
from tests.unit.in_process import AnsibleRun
from tests.unit.outside_authority import OutsideCa

pytestmark = pytest.mark.usefixtures("local_tmp")
SITE = OutsideCa.new("Site")


def exchange(ansible: AnsibleRun, place: Path, *, check: bool = False, **args: Any) -> Any:
    options = {"path": str(place / "out"), **args}
    return ansible.task("certificate_requests", "k1", check=check, **options)


def sign(place: Path, **changes: Any) -> str:
    folder = place / "signed"
    folder.mkdir(exist_ok=True)
    for path in (place / "out").glob("*.csr"):
        (folder / f"{path.stem}.pem").write_text(SITE.sign(path.read_text(), **changes))
    return str(folder)


def test_new_keys_of_all_hosts_are_handed_over_and_taken_in(tmp_path: Path) -> None:
    ansible = deployed_outside(tmp_path, SITE)
    before = secret_files(ansible)
    result = exchange(ansible, tmp_path)
    assert (result["requests"], "No certificate has to be signed" in result["msg"]) == ([], True)
    rotate(ansible)
    (tmp_path / "out/mine.csr").write_text("of the site's own")
    ansible = ansible.next_run()
    result = exchange(ansible, tmp_path)
    files = {row["file"] for row in json.loads((tmp_path / "out/requests.json").read_text())}
    assert {"k1-node.csr", "k3-clients.csr"} <= files
    assert [row["file"] for row in result["requests"]] == sorted(files)
    (tmp_path / "out/mine.csr").unlink()
    signed = sign(tmp_path)
    (tmp_path / "out/mine.csr").write_text("of the site's own")
    result = exchange(ansible, tmp_path, signed=signed)
    assert (result["changed"], result["requests"]) == (True, [])
    after = secret_files(ansible)
    changed = {name for name, text in before.items() if after[name] != text}
    assert changed == {name for name in before if name.startswith("certificates/")}
    assert (
        ansible.cluster("k2").inventory.secrets.certificates["k3/node"]
        == (after["certificates/k3/node.pem"])
    ), "for tasks to come"
    ansible = ansible.next_run()
    assert run_checks(ansible, generate=True)["changed"] is False
    exchange(ansible, tmp_path)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"requests.json", "mine.csr"}


def test_the_result_says_which_of_two_was_not_used(tmp_path: Path) -> None:
    ansible = clean(
        tmp_path, kafka_security="standard", kafka_ca_certificate=SITE.given.certificate
    )
    exchange(ansible, tmp_path)
    signed = Path(sign(tmp_path))
    request = (tmp_path / "out/k1-node.csr").read_text()
    (signed / "older.pem").write_text(SITE.sign(request, begin=-5))
    (signed / "wrong.pem").write_text(SITE.sign(request, begin=-0.5, names=["elsewhere"]))
    for _ in range(2):
        result = exchange(ansible, tmp_path, signed=str(signed))
        assert "failed" not in result
        assert f"- {signed}/older.pem: another certificate of its key is in place" in result["msg"]
        assert f"- {signed}/wrong.pem: " in result["msg"]
        ansible = ansible.next_run()
    assert result["changed"] is False


def test_the_table_of_somebody_else_removes_nothing(tmp_path: Path) -> None:
    ansible = clean(
        tmp_path, kafka_security="standard", kafka_ca_certificate=SITE.given.certificate
    )
    (tmp_path / "out").mkdir()
    (tmp_path / "a.csr").write_text("outside")
    for text in ('[{"file": "../a.csr"}, {"file": ".."}, 1, {}]', "5", "{", '"x"'):
        (tmp_path / "out/requests.json").write_text(text)
        exchange(ansible, tmp_path)
        assert (tmp_path / "a.csr").exists()
        assert isinstance(json.loads((tmp_path / "out/requests.json").read_text()), list)


def test_during_a_change_of_the_ca_nothing_is_requested(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    rotate(ansible, what="ca")
    hosts = ansible.inventory / "hosts.yml"
    document = yaml.safe_load(hosts.read_text())
    document["all"]["vars"]["kafka_ca_certificate"] = SITE.given.certificate
    hosts.write_text(yaml.safe_dump(document))
    ansible = ansible.next_run()
    before = secret_files(ansible)
    with pytest.raises(AnsibleError, match=r"complete the change with .* -e rotate=ca"):
        exchange(ansible, tmp_path)
    assert secret_files(ansible) == before


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    ansible = clean(
        tmp_path, kafka_security="standard", kafka_ca_certificate=SITE.given.certificate
    )
    (tmp_path / "file").write_text("")
    with pytest.raises(AnsibleError, match=r"cannot be written: .*Set path to another directory"):
        exchange(ansible, tmp_path, path=str(tmp_path / "file"))
