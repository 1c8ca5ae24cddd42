"""Whether the schema registry is healthy, by what its instances answer.

Pure: the caller asks the instances. The first answer is that of `GET /health/ready` at the
management port (MicroProfile Health), the others those of `GET /subjects`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_SHOWN = 5


def not_ready(answer: Mapping[str, Any]) -> list[str]:
    """Return the checks of an instance that are not up."""
    checks = answer.get("checks") or ()
    return [str(one.get("name")) for one in checks if one.get("status") != "UP"]


def problems(
    own: str,
    down: Sequence[str] | None,
    unanswered: Mapping[str, str],
    subjects: Mapping[str, Sequence[str]],
) -> list[str]:
    """Return everything that is wrong.

    `own` is the instance of this host, `host:port`, `down` its checks that are not up, None where
    it does not answer; `unanswered` is instance -> why it does not answer, `subjects` instance ->
    the names of its subjects.
    """
    see = "see journalctl -u schema_registry there"
    wrong = [f"the instance at {name} does not answer: {why}" for name, why in unanswered.items()]
    if down is None and own not in unanswered:
        wrong.append(f"the instance at {own} does not answer the health check: {see}")
    elif down:
        wrong.append(f"the instance at {own} is not ready ({', '.join(down)}): {see}")
    first = {*subjects.get(own, ())}
    for name, found in subjects.items() if own in subjects else ():
        for other, missing in ((name, first - {*found}), (own, {*found} - first)):
            if missing:
                shown = ", ".join(sorted(missing)[:_SHOWN])
                more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
                wrong.append(f"the instance at {other} does not have {shown}{more}: {see}")
    return wrong
