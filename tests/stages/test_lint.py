"""Every linter."""

from tests.support.lab.lab import succeed


def test_lint() -> None:
    succeed("lint", seconds=1500)
