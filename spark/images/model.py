"""The model: logistic regression on how far lines through a picture differ from their surroundings.

It is a JSON file with one number for each feature, not a pickle: reading it executes nothing.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from images.frames import DEFECT, GOOD, RefusedFrameError

Floats = NDArray[np.float64]
SIDE: Final = 64
"""A picture is reduced to so many rows and columns; a smaller one is refused."""
ANGLES: Final = 12
FEATURES: Final = 2 * ANGLES + 1
DIGITS: Final = 4


def reduced(picture: NDArray[np.uint8]) -> Floats:
    """Return the means of the blocks of a picture, less its mean and in units of its deviation.

    Raises:
        RefusedFrameError: it is too small.

    """
    rows, columns = (side // SIDE for side in picture.shape)
    if not rows or not columns:
        message = "too small"
        raise RefusedFrameError(message)
    cut = picture[: rows * SIDE, : columns * SIDE].astype(np.float32)
    means = cut.reshape(SIDE, rows, SIDE, columns).mean(axis=(1, 3)).astype(np.float64)
    normalized: Floats = (means - means.mean()) / (means.std() + 1e-9)
    return normalized


@cache
def _lines() -> list[tuple[NDArray[np.int64], NDArray[np.int64], Floats]]:
    """Return for each angle the pixels line by line, where each line begins, and its length."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    lines = []
    for angle in np.arange(ANGLES) * np.pi / ANGLES:
        line = np.round(rows * np.cos(angle) - columns * np.sin(angle)).ravel().astype(np.int64)
        order = np.argsort(line, kind="stable")
        _, starts, lengths = np.unique(line[order], return_index=True, return_counts=True)
        lines.append((order, starts, lengths.astype(np.float64)))
    return lines


def features(pictures: Sequence[Floats]) -> Floats:
    """Return a row for each reduced picture; no row depends on the others."""
    stack = np.stack(pictures)
    pixels = stack.reshape(len(pictures), SIDE * SIDE)
    # Neighbours in a row are alike on a good surface: what is left is mostly a scratch.
    edges = np.diff(stack, axis=2, append=stack[:, :, -1:]).reshape(pixels.shape)
    columns = [np.abs(pixels).max(axis=1)]
    for order, starts, lengths in _lines():
        for values in (pixels, edges):
            means = np.add.reduceat(values[:, order], starts, axis=1) / lengths
            columns.append((np.abs(means) * np.sqrt(lengths)).max(axis=1))
    return np.stack(columns, axis=1)


@dataclass(frozen=True)
class Model:
    """Mean and scale of each feature, its weight, and the bias."""

    mean: Sequence[float]
    scale: Sequence[float]
    weights: Sequence[float]
    bias: float

    @classmethod
    def from_json(cls, text: str) -> "Model":
        """Return the model of a file.

        Raises:
            ValueError: it is none.

        """
        try:
            fields = json.loads(text)
            lists = [
                [float(number) for number in fields[name]] for name in ("mean", "scale", "weights")
            ]
            bias = float(fields["bias"])
        except (KeyError, TypeError, ValueError) as error:
            message = f"no model: {type(error).__name__} {error}"
            raise ValueError(message) from error
        numbers = np.array([*lists[0], *lists[1], *lists[2], bias])
        if {len(values) for values in lists} != {FEATURES} or not np.isfinite(numbers).all():
            message = f"no model: not {FEATURES} finite numbers for each of mean, scale, weights"
            raise ValueError(message)
        mean, scale, weights = lists
        return cls(mean, scale, weights, bias)

    def to_json(self) -> str:
        """Return it as a file; the same numbers give the same text."""
        return json.dumps(vars(self), indent=1) + "\n"

    @property
    def version(self) -> str:
        """What each result says of the model that judged it."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:12]

    def judge(self, pictures: Sequence[Floats]) -> list[tuple[str, float]]:
        """Return label and confidence, the probability of that label, of each reduced picture.

        Rounded, and the same in whatever batch a picture comes: a repeated micro-batch gives
        equal results.
        """
        if not pictures:
            return []
        scaled = (features(pictures) - np.array(self.mean)) / np.array(self.scale)
        odds = (scaled * np.array(self.weights)).sum(axis=1) + self.bias
        chances = 1 / (1 + np.exp(-odds.clip(-500, 500)))
        return [
            (DEFECT if chance > 0.5 else GOOD, round(float(max(chance, 1 - chance)), DIGITS))
            for chance in chances
        ]
