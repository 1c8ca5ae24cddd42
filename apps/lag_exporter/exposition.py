"""The text format of Prometheus, version 0.0.4."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})

Sample = tuple[Mapping[str, str], float]
"""Labels and value."""


@dataclass(frozen=True)
class Metric:
    """A metric."""

    name: str
    kind: str
    """Gauge or counter."""
    help: str
    samples: Iterable[Sample]


def text(metrics: Iterable[Metric]) -> str:
    """Return metrics as Prometheus reads them; those without samples are left out."""
    return "".join(f"{line}\n" for metric in metrics for line in _lines(metric))


def _lines(metric: Metric) -> Iterator[str]:
    first = True
    for labels, value in metric.samples:
        if first:
            yield f"# HELP {metric.name} {metric.help}"
            yield f"# TYPE {metric.name} {metric.kind}"
            first = False
        pairs = ",".join(f'{key}="{label.translate(_ESCAPES)}"' for key, label in labels.items())
        yield f"{metric.name}{{{pairs}}} {value!r}" if pairs else f"{metric.name} {value!r}"
