"""Which SQLite keeps what was committed."""

from pathlib import Path

import pytest

from dayfly.store.gate import _file_system, is_safe, place_warning, version_warning


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ((3, 37, 0), False),
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 44, 9), True),
        ((3, 45, 0), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 0), False),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 52, 0), False),  # withdrawn
        ((3, 53, 0), True),
        ((4, 0, 0), True),
    ],
)
def test_D10_releases_that_lose_data_are_known(version, safe):
    assert is_safe(version) is safe
    assert (version_warning(version) == "") is safe


def test_D10_the_warning_names_the_release_and_what_to_do():
    said = version_warning((3, 40, 1))
    assert "3.40.1" in said
    assert "do not write to its file with another" in said
    assert isinstance(version_warning(), str)


def test_a_network_file_system_is_told_by_its_longest_mount(tmp_path):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "1 0 8:1 / / rw - ext4 /dev/sda rw\n"
        "2 1 0:5 / /data rw shared:1 - nfs4 server:/x rw\n"
        "3 2 0:6 / /data/a\\040b rw - tmpfs none rw\n"
    )
    assert _file_system(Path("/home/x.db"), mounts) == "ext4"
    assert _file_system(Path("/data/x.db"), mounts) == "nfs4"
    assert _file_system(Path("/data/a b/x.db"), mounts) == "tmpfs"
    assert _file_system(Path("/database/x.db"), mounts) == "ext4"
    assert _file_system(Path("/x"), tmp_path / "missing") == ""
    assert isinstance(place_warning(tmp_path), str)


@pytest.mark.parametrize(
    ("kind", "told"), [("nfs4", True), ("fuse.sshfs", True), ("fuse.ceph", True), ("ext4", False)]
)
def test_D10_a_file_on_another_machine_is_told_with_its_name(tmp_path, monkeypatch, kind, told):
    monkeypatch.setattr("dayfly.store.gate._file_system", lambda *_: kind)
    said = place_warning(tmp_path / "s.db")
    assert bool(said) is told
    assert not told or (kind in said and "s.db" in said)
