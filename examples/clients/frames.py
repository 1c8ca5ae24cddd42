"""A camera: sends frames in chunks, and of large ones a reference, with confluent-kafka.

    frames.py DIRECTORY TOPIC FRAMES [--store STORE] [--chunk BYTES] [--largest BYTES] [--rate N]

DIRECTORY is what `clients.yml` has written for a user that may write to TOPIC, FRAMES a directory
with PGM files. A frame of more than `--largest` bytes is copied to STORE, a directory that Spark's
hosts see too, and the record has its path below it.
"""

import argparse
import hashlib
import os
import re
import shutil
import time
from pathlib import Path

from confluent_kafka import Producer

parser = argparse.ArgumentParser()
parser.add_argument("directory", type=Path)
parser.add_argument("topic")
parser.add_argument("frames", type=Path)
parser.add_argument("--store", type=Path)
parser.add_argument("--chunk", type=int, default=900_000)  # a record is at most 1 MiB, all in all
parser.add_argument("--largest", type=int, default=4_000_000)
parser.add_argument("--rate", type=float, help="frames per second")
options = parser.parse_args()

lines = (options.directory / "librdkafka.conf").read_text().splitlines()
login = dict(line.split("=", 1) for line in lines if line and line[0] != "#")
# An idempotent producer: a retry changes neither order nor number of the chunks. They are
# compressed only by `compression.type`; a whole chunk has to fit into one batch.
producer = Producer({**login, "enable.idempotence": True, "linger.ms": 5})


def delivered(error, _):
    """Called by poll() and flush(), once for each record."""
    if error:
        raise SystemExit(f"not written: {error}")


def send(key, value, headers):
    """Wait while the queue is full."""
    while True:
        try:
            producer.produce(options.topic, value, key, headers=headers, on_delivery=delivered)
        except BufferError:
            producer.poll(1)
        else:
            producer.poll(0)
            return


def store(path):
    """Copy a frame: it has its name only when it is complete, and its data are on the disk."""
    unfinished = options.store / f".{path.name}"
    with path.open("rb") as source, unfinished.open("wb") as target:
        shutil.copyfileobj(source, target)
        target.flush()
        os.fsync(target.fileno())
    unfinished.rename(options.store / path.name)


sent = {"chunks": 0, "references": 0}
begin = time.monotonic()
frames = sorted(options.frames.glob("*.pgm"))
if not frames:
    raise SystemExit(f"no *.pgm in {options.frames}")
for number, path in enumerate(frames):
    if options.rate:
        time.sleep(max(0, begin + number / options.rate - time.monotonic()))
    data = path.read_bytes()
    columns, rows = re.match(rb"P5\s+(\d+)\s+(\d+)\s", data).groups()
    headers = {"sha256": hashlib.sha256(data).hexdigest(), "shape": rows + b"x" + columns}
    if options.store and len(data) > options.largest:
        store(path)
        send(path.stem, None, {**headers, "reference": path.name})
        sent["references"] += 1
        continue
    chunks = [data[at : at + options.chunk] for at in range(0, len(data), options.chunk)]
    for index, chunk in enumerate(chunks):
        place = {"index": str(index), "count": str(len(chunks))}
        send(path.stem, chunk, {**headers, **place})
        sent["chunks"] += 1
if left := producer.flush(60):
    raise SystemExit(f"{left} records were not acknowledged within 60 s")
print(f"{len(frames)} frames: {sent['chunks']} chunks, {sent['references']} references")
