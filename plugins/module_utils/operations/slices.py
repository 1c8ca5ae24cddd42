"""How a module follows a copy of replicas for a while, and keeps the lock of the cluster meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..host import operation_file
from ..kafka.answers import RefusedError
from ..kafka.client import LONG_REQUEST_MS, Cluster
from . import options
from .options import FailedError


def run(module: AnsibleModule, work: Callable[[Cluster], dict[str, Any]]) -> dict[str, Any]:
    """Write the operation's record, and do the work with a client that waits for long answers.

    Raises:
        FailedError: another operation has the lock, or Kafka refuses a request.

    """
    params = module.params
    record = params["operation"]
    if (
        record
        and not module.check_mode
        and not operation_file.update(Path(params["record"]), record)
    ):
        text = f"another operation has taken the cluster lock meanwhile: see {params['record']}"
        raise FailedError(text)
    # Sizes of all replicas, and changes of many topics, take a broker longer than other requests.
    patient = Cluster(options.connection_of(params), request_ms=LONG_REQUEST_MS)
    try:
        return work(patient)
    except RefusedError as error:
        raise FailedError(str(error)) from error
    finally:
        patient.close()
