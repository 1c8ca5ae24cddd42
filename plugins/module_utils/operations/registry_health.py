"""Whether the schema registry is healthy, by what its instances answer.

Pure: the caller asks the instances. The first answer is that of `GET /health/ready` at the
management port (MicroProfile Health), the others those of `GET /subjects`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_SHOWN = 5


def not_ready(response: Mapping[str, Any]) -> list[str]:
    """Return the checks of an instance that are not up."""
    checks = response.get("checks") or ()
    return [str(check.get("name")) for check in checks if check.get("status") != "UP"]


def problems(
    local: str,
    down: Sequence[str] | None,
    unanswered: Mapping[str, str],
    subjects: Mapping[str, Sequence[str]],
) -> list[str]:
    """Return everything that is wrong.

    `local` is the instance of this host, `host:port`, `down` its checks that are not up, None where
    it does not answer; `unanswered` is instance -> why it does not answer, `subjects` instance ->
    the names of its subjects.
    """
    see = "see journalctl -u schema_registry there"
    wrong = [f"the instance at {name} does not answer: {why}" for name, why in unanswered.items()]
    if down is None and local not in unanswered:
        wrong.append(f"the instance at {local} does not answer the health check: {see}")
    elif down:
        wrong.append(f"the instance at {local} is not ready ({', '.join(down)}): {see}")
    first = {*subjects.get(local, ())}
    for name, names in subjects.items() if local in subjects else ():
        for instance, missing in ((name, first - {*names}), (local, {*names} - first)):
            if missing:
                shown = ", ".join(sorted(missing)[:_SHOWN])
                remainder = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
                wrong.append(f"the instance at {instance} does not have {shown}{remainder}: {see}")
    return wrong
