"""Frames in chunks and by reference: reassembly, refusals, the model, and all of it on Spark."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from images.frames import DEFECT, GOOD, RefusedFrameError, Store, encode, read
from images.model import Model, reduced
from images.records import Frame, Reassembly, Record, parse
from images.report import Result, reasons, summary
from images.stream import judged, reassembled
from images.surfaces import surfaces
from images.train import accuracy, main, train
from millrace_job import REASON, SOURCE_OFFSET, SOURCE_PARTITION, send_modules

# PySpark warns of pandas 3, which these tests have; the job's requirements name pandas 2.
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully:FutureWarning")

TIMEOUT = 60_000
SHA = "0" * 64
KAFKA = (
    "key BINARY, value BINARY, partition INT, offset BIGINT, timestamp TIMESTAMP, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
[PICTURE] = surfaces(1, 128, seed=3)[0]
DATA = encode(PICTURE)
SHAPE = "128x128"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def chunk(frame: str, index: int, count: int, at: int = 0, value: bytes = b"") -> Record:
    return Record(
        frame.encode(),
        value or b"%d" % index,
        [("h", b"\xff")],
        0,
        0,
        at,
        SHA,
        "1x1",
        None,
        None,
        index,
        count,
    )


def fold(records: Sequence[Record], cuts: Sequence[int], limit: int = 1 << 20) -> list[Frame]:
    """What comes out when the log is cut into micro-batches there."""
    complete: list[Frame] = []
    state = (b"[]", b"", 0)
    log = [record._replace(offset=offset) for offset, record in enumerate(records)]
    places = [0, *sorted(cuts), len(log)]
    for begin, end in pairwise(places):
        frames = Reassembly(TIMEOUT, limit)
        frames.restore(*state)
        complete += [frame for record in log[begin:end] for frame in frames.take(record)]
        state = frames.state()
    return complete


def named(frames: Sequence[Frame]) -> list[tuple[str, list[int], str | None]]:
    """Frame, indexes of its chunks, reason."""
    return [
        ((records[0].key or b"").decode(), [record.number for record in records], reason)
        for records, reason in frames
    ]


LOG = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.integers(0, 30_000)), max_size=40
)


@given(LOG, st.lists(st.integers(0, 40), max_size=4), st.sampled_from([4, 1 << 20]))
def test_frames_are_the_same_however_the_log_is_cut(
    log: list[tuple[str, int, int]], cuts: list[int], limit: int
) -> None:
    clock, records = 0, []
    for frame, index, later in log:
        clock += later
        records.append(chunk(frame, index, 3, clock))
    cuts = [min(cut, len(records)) for cut in cuts]
    assert fold(records, cuts, limit) == fold(records, [], limit)


@given(st.permutations(range(4)), st.lists(st.integers(0, 3), max_size=6), st.data())
def test_a_frame_comes_once_from_chunks_in_any_order_and_repeated(
    order: list[int], again: list[int], data: st.DataObject
) -> None:
    records = [chunk("a", index, 4) for index in order]
    for index in again:
        records.insert(data.draw(st.integers(0, len(records))), chunk("a", index, 4))
    assert named(fold(records, [2, 5])) == [("a", [0, 1, 2, 3], None)]


def test_a_frame_whose_chunks_stop_coming_is_refused_and_can_be_sent_again() -> None:
    first = [chunk("a", 1, 3, 0), chunk("a", 0, 3, 1), chunk("b", 0, 1, TIMEOUT)]
    again = [chunk("a", index, 3, 3 * TIMEOUT) for index in range(3)]
    frames = named(fold([*first, chunk("c", 0, 1, TIMEOUT + 2), *again], [1, 3]))
    full = ("a", [0, 1, 2], None)
    incomplete = ("a", [0, 1], "incomplete: 2 of 3 chunks")
    assert frames == [("b", [0], None), incomplete, ("c", [0], None), full]


def test_chunks_of_different_frames_are_never_mixed() -> None:
    foreign = chunk("a", 1, 2)._replace(sha256="1" * 64)
    assert named(fold([chunk("a", 0, 2), foreign, chunk("a", 1, 3)], [])) == []
    two = [chunk("a", 0, 2), chunk("a", 0, 2, value=b"x"), chunk("a", 1, 2)]
    refused, full = fold(two, [1])
    assert refused[1] == "another chunk has the same index"
    assert [record.value for record in full[0]] == [b"0", b"1"]


def test_incomplete_frames_take_a_bounded_space() -> None:
    records = [chunk(str(number), 0, 2, value=b"x" * 10) for number in range(5)]
    assert named(fold(records, [2], limit=25)) == [
        (str(number), [0], "too many frames are incomplete") for number in range(3)
    ]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """With a frame, and ways out of it."""
    root = tmp_path / "store"
    (root / "day").mkdir(parents=True)
    (root / "day/frame.pgm").write_bytes(DATA)
    (tmp_path / "secret").write_bytes(DATA)
    (root / "link.pgm").symlink_to(tmp_path / "secret")
    (root / "loop.pgm").symlink_to(root / "loop.pgm")
    os.mkfifo(root / "pipe.pgm")
    return Store(str(root), 1 << 20)


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("day/../other.pgm", "unknown reference"),
        ("day", "unknown reference"),
        ("day/frame.pgm/x", "unknown reference"),
        ("pipe.pgm", "unknown reference"),
        ("loop.pgm", "unknown reference"),
        ("x" * 300, "unknown reference"),
        ("a\0b", "unknown reference"),
        ("../secret", "reference outside the root"),
        ("link.pgm", "reference outside the root"),
        ("/etc/passwd", "reference outside the root"),
    ],
)
def test_a_reference_leads_to_a_file_below_the_root(
    store: Store, reference: str, reason: str
) -> None:
    assert (read([], digest(DATA), SHAPE, "day/frame.pgm", store) == PICTURE).all()
    with pytest.raises(RefusedFrameError, match=reason):
        read([], digest(DATA), SHAPE, reference, store)


def test_a_store_that_is_away_refuses_no_frame(store: Store) -> None:
    with pytest.raises(FileNotFoundError):
        read([], digest(DATA), SHAPE, "day/frame.pgm", Store(f"{store.root}/away", 1 << 20))
    with pytest.raises(RefusedFrameError, match="not accepted"):
        read([], digest(DATA), SHAPE, "day/frame.pgm", Store("", 1 << 20))


@pytest.mark.parametrize(
    ("values", "sha256", "shape", "reason"),
    [
        ([DATA[:99], DATA[100:]], digest(DATA), SHAPE, "wrong checksum"),
        ([DATA], digest(DATA), "64x256", "wrong shape"),
        ([DATA[:-1]], digest(DATA[:-1]), SHAPE, "not decodable"),
        ([b"P5 99999 99999 255\n"], digest(b"P5 99999 99999 255\n"), SHAPE, "not decodable"),
        ([DATA] * 80, digest(DATA * 80), SHAPE, "too large"),
    ],
)
def test_a_frame_is_what_its_records_say(
    values: list[bytes], sha256: str, shape: str, reason: str
) -> None:
    store = Store("", 1 << 20)
    assert (read([DATA[:100], DATA[100:]], digest(DATA), SHAPE, None, store) == PICTURE).all()
    with pytest.raises(RefusedFrameError, match=reason):
        read(values, sha256, shape, None, store)


# The model


@pytest.fixture(scope="module")
def model() -> Model:
    pictures, labels = surfaces(400, 128, seed=1)
    return train([reduced(picture) for picture in pictures], labels)


def test_the_model_finds_scratches_that_it_was_not_trained_with(model: Model) -> None:
    pictures, labels = surfaces(200, 128, seed=2)
    assert accuracy(model, [reduced(picture) for picture in pictures], labels) > 0.8


def test_a_result_depends_neither_on_its_batch_nor_on_the_file(model: Model) -> None:
    pictures = [reduced(picture) for picture in surfaces(20, 128, seed=4)[0]]
    again = Model.from_json(model.to_json())
    assert again.version == model.version
    assert again.judge(pictures) == [model.judge([picture])[0] for picture in pictures]
    assert all(0.5 <= confidence <= 1 for _, confidence in again.judge(pictures))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"mean": [1], "scale": [1], "weights": [1]}'])
def test_what_is_no_model_is_refused(model: Model, text: str) -> None:
    for wrong in (text, model.to_json().replace(str(model.bias), "NaN")):
        with pytest.raises(ValueError, match="no model"):
            Model.from_json(wrong)


def test_a_model_is_trained_with_frames_of_ones_own(tmp_path: Path) -> None:
    from images import surfaces as module

    assert module.main([str(tmp_path / "frames"), "--count", "80"]) == 0
    assert main([str(tmp_path / "model.json"), "--frames", str(tmp_path / "frames")]) == 0
    assert Model.from_json((tmp_path / "model.json").read_text())


def test_a_picture_that_is_too_small_is_refused() -> None:
    with pytest.raises(RefusedFrameError, match="too small"):
        reduced(PICTURE[:63])


# On Spark


def headers(data: bytes, shape: str = SHAPE, **properties: Any) -> list[tuple[str, bytes]]:
    values = {"sha256": digest(data), "shape": shape, **properties}
    return [(name, str(value).encode()) for name, value in values.items()]


PARTS = [DATA[:9000], DATA[9000:]]
CHUNKS = [headers(DATA, index=index, count=2) for index in range(2)]
Row = tuple[bytes | None, bytes | None, list[tuple[str, bytes]] | None]
BATCHES: list[list[Row]] = [
    [
        (b"whole", DATA, headers(DATA, index=0, count=1)),
        (b"cut", PARTS[1], CHUNKS[1]),
        (b"incomplete", PARTS[0], CHUNKS[0]),
        (b"damaged", PARTS[1], CHUNKS[0]),
        (b"reference", None, headers(DATA, reference="large.pgm")),
        (b"elsewhere", b"", headers(DATA, reference="../large.pgm")),
    ],
    [
        (b"cut", PARTS[1], CHUNKS[1]),
        (b"cut", PARTS[0], CHUNKS[0]),
        (b"damaged", PARTS[0], CHUNKS[1]),
        (b"no-picture", b"GIF89a", headers(b"GIF89a", index=0, count=1)),
        (b"no-headers", DATA, None),
        (b"no-text", DATA, [("sha256", b"\xff\xfe"), ("sha256", SHA.encode())]),
        (b"no-shape", DATA, headers(DATA, "64", index=0, count=1)),
        (b"no-place", DATA, headers(DATA, index=2, count=2)),
        (b"no-number", DATA, headers(DATA, index="one", count=2)),
        (b"no-value", None, headers(DATA, index=0, count=1)),
        (None, DATA, headers(DATA, index=0, count=1)),
    ],
]
"""The last record comes after all others by more than the time-out."""
REFUSED = {
    b"incomplete": ["incomplete: 1 of 2 chunks"],
    b"damaged": ["wrong checksum"] * 2,
    b"elsewhere": ["reference outside the root"],
    b"no-picture": ["not decodable"],
    b"no-headers": ["no checksum"],
    b"no-text": ["no checksum"],
    b"no-shape": ["no shape"],
    b"no-place": ["no index and count"],
    b"no-number": ["no index and count"],
    b"no-value": ["no value"],
    None: ["no frame id"],
}


def write(spark: SparkSession, here: Path) -> list[Row]:
    """Write a file for each micro-batch, in the columns of Kafka's source."""
    records = [row for batch in BATCHES for row in batch]
    for number, batch in enumerate(BATCHES):
        rows: list[tuple[Any, ...]] = []
        for key, value, pairs in batch:
            offset = len(rows) + number * len(BATCHES[0])
            at = offset + (2 * TIMEOUT // 1000 if offset == len(records) - 1 else 0)
            rows.append((key, value, 0, offset, datetime.fromtimestamp(at, UTC), pairs))
        spark.createDataFrame(rows, KAFKA).coalesce(1).write.parquet(str(here / f"{number}"))
        [path] = here.glob(f"{number}/*.parquet")
        path.rename(here / f"{number}.parquet")
        os.utime(here / f"{number}.parquet", (1e9 + number, 1e9 + number))
    return records


def test_each_frame_gets_a_result_or_its_records_come_back_as_they_were(
    spark: SparkSession, model: Model, tmp_path: Path
) -> None:
    (tmp_path / "large.pgm").write_bytes(b"")
    (tmp_path / "store").mkdir()
    (tmp_path / "store/large.pgm").write_bytes(DATA)
    records = write(spark, tmp_path)
    send_modules(spark)
    source = spark.readStream.schema(KAFKA).option("maxFilesPerTrigger", 1)
    frames = reassembled(parse(source.parquet(str(tmp_path / "*.parquet"))), TIMEOUT)
    output = judged(frames, model, Store(str(tmp_path / "store"), 1 << 20), "images")
    plan = output.writeStream.format("memory").queryName("images").trigger(availableNow=True)
    query = plan.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    assert query.awaitTermination(120)
    assert len(query.recentProgress) >= len(BATCHES)
    results, letters = {}, []
    for row in spark.table("images").collect():
        record_headers = {header.key: bytes(header.value) for header in row.headers}
        if row.topic == "images.results":
            assert bytes(row.key) not in results, "two results of one frame"
            results[bytes(row.key)] = json.loads(row.value), int(record_headers["sent"])
        else:
            assert row.topic == "images.dead-letter"
            letters.append((row, record_headers))
    [(label, confidence)] = model.judge([reduced(PICTURE)])
    verdict = {"label": label, "confidence": confidence, "model": model.version}
    assert results == {
        b"whole": (verdict, 0),
        b"cut": (verdict, 1000),
        b"reference": (verdict, 4000),
    }
    reasons: dict[bytes | None, list[str]] = {}
    for row, record_headers in letters:
        key, value, pairs = records[int(record_headers["source.offset"])]
        assert (row.key and bytes(row.key), row.value and bytes(row.value)) == (key, value)
        assert [(header.key, bytes(header.value)) for header in row.headers][
            : len(pairs or [])
        ] == (pairs or [])
        reasons.setdefault(key, []).append(record_headers[REASON].decode())
    assert reasons == REFUSED


# The report


def test_the_report_counts_each_frame_once() -> None:
    labels = {str(number): GOOD for number in range(100)} | {"none": DEFECT}
    results = [Result(str(n), GOOD if n else DEFECT, 0, 10 * (n + 1)) for n in range(100)]
    results += [Result("7", GOOD, 0, 5_000), Result("of another run", GOOD, -(10**6), 10**6)]
    report = summary(results, labels)
    assert (report.frames, report.missing, report.repeats) == (100, 1, 1)
    assert (report.accuracy, report.p50, report.p99) == (0.99, 0.5, 0.99)
    assert report.per_second == 100
    assert summary([], labels).missing == 101


def test_a_dead_letter_that_comes_twice_counts_once() -> None:
    letters = [
        SimpleNamespace(
            headers=[
                (REASON, b"wrong shape"),
                (SOURCE_PARTITION, b"0"),
                (SOURCE_OFFSET, str(offset).encode()),
            ]
        )
        for offset in (1, 2, 1)
    ]
    assert reasons(letters) == {"wrong shape": 2}
