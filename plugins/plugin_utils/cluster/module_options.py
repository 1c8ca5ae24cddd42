"""The options of modules that operate a service, from the model of the cluster.

The folder of a service has them, in its module `module_options`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from . import registry
from .cluster import Cluster

Options = dict[str, Any]
Operations = Mapping[str, Callable[[Any, Cluster], Options]]
"""Module -> function that returns its options, of what the service is on a host."""


@functools.cache
def _products() -> Mapping[str, tuple[str, Operations]]:
    """Return module -> its product, and the modules of that product."""
    return {
        module: (product, options_module.OPERATIONS)
        for product in registry.ENTRIES
        if (options_module := registry.module(product, "module_options"))
        for module in options_module.OPERATIONS
    }


def modules() -> list[str]:
    """Return the names of all modules that have options here."""
    return sorted(_products())


def of_module(module: str, cluster: Cluster, host: str) -> Options:
    """Return the options of a module that operates a service of a host, by the module's name.

    Raises:
        NoServiceError: the host does not have the service.

    """
    product, operations = _products()[module]
    return operations[module](cluster.part(host, product), cluster)
