"""What is read from the recap of a playbook."""

import pytest

from tests.support.recap import changed

RECAP = """
TASK [Show changed=7] ****

PLAY RECAP *********************************************************************
k1                         : ok=6    changed={}    unreachable=0    failed=0    skipped=1
localhost                  : ok=0    changed=0    unreachable=0    failed=0    skipped=1
"""


@pytest.mark.parametrize("count", [0, 1, 10])
def test_the_changes_of_all_hosts_count(count: int) -> None:
    assert changed(RECAP.format(count)) == count


def test_colors_do_not_count() -> None:
    colored = RECAP.format(3).replace("changed=3   ", "\x1b[0;33mchanged=3   \x1b[0m")
    colored = colored.replace("k1  ", "\x1b[0;33mk1\x1b[0m  ").replace(
        "ok=6  ", "\x1b[0;32mok=6  \x1b[0m"
    )
    assert changed(colored) == 3


def test_an_output_without_a_recap_is_no_success() -> None:
    with pytest.raises(AssertionError, match="ERROR"):
        changed("[ERROR]: changed=0")
