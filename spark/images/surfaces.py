"""Frames to try the job with: pictures of brushed metal, half of them with a scratch.

`python -m images.surfaces DIRECTORY --count 200 --size 128` writes them as PGM files, and their
labels to `labels.csv`. The same `--seed` makes the same frames.

They are generated because the size decides how a frame is sent, and the small sets of pictures in
Python packages have one size each, of a few bytes.
"""

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from images.frames import DEFECT, GOOD, LABELS, encode

Pixels = NDArray[np.uint8]
SMALLEST = 64


def surface(random: np.random.Generator, size: int, *, scratched: bool) -> Pixels:
    """Return a square picture; a scratch is as faint as the grain, and as wide as 1/64 of it."""
    noise = random.normal(size=(size, size))
    # Brushed in one direction: neighbours in a row are alike.
    grain = np.cumsum(noise, axis=1)
    width = size // 8
    grain[:, width:] -= grain[:, :-width].copy()
    grain /= np.sqrt(width)
    rows, columns = np.mgrid[:size, :size] / size - 0.5
    light = random.normal(size=2) * 20
    picture = 128 + light[0] * rows + light[1] * columns + 12 * grain + 8 * noise
    if scratched:
        angle, (top, left) = random.uniform(0, np.pi), random.uniform(-0.25, 0.25, 2)
        along = (rows - top) * np.sin(angle) + (columns - left) * np.cos(angle)
        across = (rows - top) * np.cos(angle) - (columns - left) * np.sin(angle)
        inside = (abs(along) < random.uniform(0.15, 0.4)) & (abs(across) < 0.75 / SMALLEST)
        picture += inside * random.choice([-1, 1]) * random.uniform(20, 70)
    pixels: Pixels = picture.clip(0, 255).astype(np.uint8)
    return pixels


def surfaces(count: int, size: int, seed: int) -> tuple[list[Pixels], list[str]]:
    """Return pictures and their labels, in turn good and with a defect."""
    random = np.random.default_rng(seed)
    labels = [(GOOD, DEFECT)[number % 2] for number in range(count)]
    return [surface(random, size, scratched=label == DEFECT) for label in labels], labels


def main(argv: Sequence[str] | None = None) -> int:
    """Write frames and `labels.csv`, which gets a line for each frame more."""
    parser = argparse.ArgumentParser(prog="images.surfaces", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--size", type=int, default=128, help="pixels in a row; at least 64")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args(argv)
    if arguments.size < SMALLEST:
        parser.error(f"--size {arguments.size} is less than {SMALLEST}")
    pictures, labels = surfaces(arguments.count, arguments.size, arguments.seed)
    arguments.directory.mkdir(parents=True, exist_ok=True)
    names = [f"{arguments.size}-{arguments.seed}-{number:05}" for number in range(len(labels))]
    for name, picture in zip(names, pictures, strict=True):
        (arguments.directory / f"{name}.pgm").write_bytes(encode(picture))
    with (arguments.directory / LABELS).open("a", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(zip(names, labels, strict=True))
    sys.stdout.write(f"{len(labels)} frames in {arguments.directory}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
