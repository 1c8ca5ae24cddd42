"""What is removed from a host, and what stays."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import paths, removal

from tests.unit.modules.fake_systemd import install


def write(*units: Path) -> None:
    """Write units as Millrace does."""
    for unit in units:
        unit.write_text(f"{removal.WRITTEN}; change the inventory, not this file.\n[Unit]\n")


def test_units_are_found_by_their_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "UNITS", tmp_path)
    for name in ("kafka.service", "spark-a.service", "spark-b.service", "spark.timer", "x.service"):
        write(tmp_path / name)
    unit_files = removal.units(["kafka", "spark-*", "spark-a", "missing"])
    assert [path.name for path in unit_files] == [
        "kafka.service",
        "spark-a.service",
        "spark-b.service",
    ]


def test_a_timer_goes_before_the_service_that_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "UNITS", tmp_path)
    for name in ("spark-a.service", "spark-a.timer", "spark-b.service", "spark-b.timer"):
        write(tmp_path / name)
    names = [path.name for path in removal.units(["spark-*"])]
    assert names == ["spark-a.timer", "spark-b.timer", "spark-a.service", "spark-b.service"]
    assert [path.name for path in removal.units(["spark-a.timer"])] == ["spark-a.timer"]


def test_units_of_the_site_are_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever they are called, and whether they are named or match."""
    monkeypatch.setattr(removal, "UNITS", tmp_path)
    write(tmp_path / "spark-master.service")
    for name in ("spark-notebook.service", "spark-notebook.timer", "kafka.service"):
        (tmp_path / name).write_text("[Unit]\nDescription=Not Written by Millrace\n")
    (tmp_path / "spark-masked.service").symlink_to("/dev/null")
    (tmp_path / "spark-gone.service").symlink_to("nowhere")
    (tmp_path / "wants").mkdir()
    (tmp_path / "wants/spark-notebook.service").symlink_to("../spark-notebook.service")
    names = ["spark-*", "kafka", "spark-notebook.timer", "wants/spark-notebook.service"]
    assert [path.name for path in removal.units(names)] == ["spark-master.service"]


def test_a_unit_is_killed_before_it_is_disabled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Disabling waits for its stop, and a node of a quorum that is gone takes long for that."""
    systemd = install(tmp_path / "systemd", monkeypatch)
    unit = tmp_path / "kafka.service"
    unit.touch()
    removal.remove_unit(unit)
    kill, disable = systemd.commands()
    assert kill.startswith("kill ")
    assert disable.startswith("disable ")
    assert not unit.exists()


def test_a_unit_of_the_site_is_not_unmasked(tmp_path: Path) -> None:
    (tmp_path / "multi-user.target.wants").mkdir()
    for name in ("masked", "own", "absent"):
        (tmp_path / f"multi-user.target.wants/{name}.service").symlink_to(f"/lib/{name}.service")
    (tmp_path / "masked.service").symlink_to("/dev/null")
    (tmp_path / "own.service").touch()
    names = ("masked.service", "own.service", "absent.service")
    masks = removal.masks(str(tmp_path / name) for name in names)
    assert masks == [
        str(tmp_path / "masked.service"),
        str(tmp_path / "multi-user.target.wants/masked.service"),
    ]


def test_a_unit_that_is_only_disabled_keeps_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    systemd = install(tmp_path / "systemd", monkeypatch)
    monkeypatch.setattr(removal, "UNITS", tmp_path)
    write(tmp_path / "a.service")
    (tmp_path / "wants").mkdir()
    (tmp_path / "wants/a.service").symlink_to("../a.service")
    (link,) = removal.units(["wants/a.service", "wants/b.service"])
    removal.remove_unit(link)
    assert systemd.commands() == ["disable --quiet --now a.service"]
    assert not link.is_symlink()
    assert (tmp_path / "a.service").exists()


def test_only_what_is_there_is_to_be_removed_and_each_path_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    names = ["file", "gone", "empty", "dangling", "file", "gone/"]
    existing = removal.existing([f"{tmp_path}/{name}" for name in names])
    assert existing == [f"{tmp_path}/{name}" for name in ("file", "empty", "dangling")]


def test_an_asterisk_stands_for_the_names_that_are_there(tmp_path: Path) -> None:
    for name in ("job-a.conf", "job-b.conf", "other"):
        (tmp_path / name).touch()
    existing = removal.existing([f"{tmp_path}/job-*", f"{tmp_path}/none-*", f"{tmp_path}/"])
    assert existing == [f"{tmp_path}/job-a.conf", f"{tmp_path}/job-b.conf", f"{tmp_path}/"]


def test_a_directory_goes_with_all_that_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "data/t-0").mkdir(parents=True)
    (tmp_path / "data/t-0/00000.log").touch()
    assert removal.remove(str(tmp_path / "data"))
    assert not (tmp_path / "data").exists()


def test_what_a_link_leads_to_stays(tmp_path: Path) -> None:
    target = tmp_path / "other"
    target.mkdir()
    (target / "file").touch()
    (tmp_path / "data").mkdir()
    for link in (tmp_path / "home", tmp_path / "data/home"):
        link.symlink_to(target)
    assert removal.remove(str(tmp_path / "home"))
    assert removal.remove(str(tmp_path / "data"))
    assert [path.name for path in tmp_path.rglob("*")] == ["other", "file"]


def test_a_path_with_a_slash_goes_only_when_nothing_is_left_in_it(tmp_path: Path) -> None:
    """A deployment's certificates lie in such a directory."""
    certificate = tmp_path / "kafka/node.pem"
    certificate.parent.mkdir()
    certificate.touch()
    assert not removal.remove(f"{tmp_path}/kafka/")
    assert certificate.exists()
    certificate.unlink()
    assert removal.remove(f"{tmp_path}/kafka/")
    assert not certificate.parent.exists()


@pytest.mark.parametrize("path", ["/", "//", "/.", "/usr/.."])
def test_the_root_is_never_removed(path: str) -> None:
    with pytest.raises(OSError, match="root"):
        removal.remove(path)


def test_no_path_is_nothing_to_remove() -> None:
    assert not removal.remove("")
    assert removal.existing([""]) == []


def test_a_bug_in_a_removal_fails_its_test_and_removes_nothing() -> None:
    """Of the fixture for all tests here."""
    with pytest.raises(pytest.fail.Exception):
        removal.remove("/nonexistent-millrace-test-directory/")
    with pytest.raises(pytest.fail.Exception):
        Path("/nonexistent-millrace-test-directory").rmdir()


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The mount point of a disk in a service's directory of data."""
    disk = tmp_path / "kafka/data1"
    disk.mkdir(parents=True)
    monkeypatch.setattr(removal, "is_mount", lambda _, directory: directory.path == str(disk))
    return disk


def test_of_a_mounted_disk_the_contents_go(disk: Path) -> None:
    (disk / "t-0").mkdir()
    (disk / "t-0/00000.log").touch()
    assert removal.existing([str(disk)]) == [str(disk)]
    assert removal.remove(str(disk))
    assert list(disk.iterdir()) == []


def test_a_directory_with_a_mounted_disk_in_it_is_emptied(disk: Path) -> None:
    (disk / "t-0").mkdir()
    (disk.parent / "metadata").mkdir()
    assert removal.remove(str(disk.parent))
    assert list(disk.parent.iterdir()) == [disk]
    assert list(disk.iterdir()) == []


def test_a_mount_point_and_what_it_lies_in_are_no_change_the_second_time(disk: Path) -> None:
    both = [str(disk), str(disk.parent)]
    assert removal.existing(both) == []
    assert not any(map(removal.remove, both))


def test_a_directory_on_another_disk_is_a_mount_point(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for path, expected in (("/proc", True), (str(tmp_path / "data"), False)):
        with paths.at(path) as place, place.directory.enter(place.name) as directory:
            assert removal.is_mount(place.directory, directory) is expected


@pytest.mark.parametrize("name", ["data", "data/", "data/below", "file/below"])
def test_what_is_not_there_is_no_removal(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    assert not removal.remove(f"{tmp_path}/{name}")
    assert removal.existing([f"{tmp_path}/{name}"]) == []
    assert not removal.remove(f"{tmp_path}/file/"), "it is no directory"
    assert (tmp_path / "file").exists()


def test_each_removal_is_told(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    for name in ("link", "file", "empty"):
        assert removal.remove(f"{tmp_path}/{name}")
        assert not removal.remove(f"{tmp_path}/{name}")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def vanishing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with names of what a process that still runs has removed meanwhile."""
    data = tmp_path / "data"
    data.mkdir()
    names = paths.Directory.names

    def former_names(directory: paths.Directory) -> list[str]:
        vanished = ["gone-0", "gone-1"] if directory.path == str(data) else []
        return [*vanished, *names(directory)]

    monkeypatch.setattr(paths.Directory, "names", former_names)
    return data


def test_what_somebody_else_removes_meanwhile_is_no_error(vanishing: Path) -> None:
    (vanishing / "log").touch()
    assert removal.existing([str(vanishing)]) == [str(vanishing)]
    assert removal.remove(str(vanishing))
    assert not vanishing.exists()


def test_what_somebody_else_has_removed_is_nothing_to_remove(vanishing: Path) -> None:
    assert removal.existing([str(vanishing)]) == []


def test_only_what_is_removed_here_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a mount point, which stays, with a file that somebody else removes first."""
    (tmp_path / "log").touch()
    remove_file = paths.Place.remove_file

    def come_late(place: paths.Place) -> None:
        remove_file(place)
        remove_file(place)

    monkeypatch.setattr(paths.Place, "remove_file", come_late)
    monkeypatch.setattr(removal, "is_mount", lambda *_: True)
    assert not removal.remove(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_removed_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unlike one in which something is left, or a disk is mounted."""
    (tmp_path / "data").mkdir()
    for number, is_left in ((errno.EROFS, False), (errno.EACCES, False), (errno.EBUSY, True)):

        def refuse(place: paths.Place, number: int = number) -> None:
            raise OSError(number, "refused", place.path)

        monkeypatch.setattr(paths.Place, "remove_directory", refuse)
        if is_left:
            assert not removal.remove(str(tmp_path / "data"))
        else:
            with pytest.raises(OSError, match="data"):
                removal.remove(str(tmp_path / "data"))


def test_a_unit_whose_file_is_gone_by_now_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    systemd = install(tmp_path / "systemd", monkeypatch)
    removal.remove_unit(tmp_path / "kafka.service")
    assert len(systemd.commands()) == 2
