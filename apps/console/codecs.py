"""Decompression of Kafka's batches: bounded, by what a host has itself.

kafka-python needs compiled packages for all but gzip, and decompresses without a limit. Every host
has libzstd and liblz4: the package manager and systemd are linked with them. Snappy is short enough
to be decoded here.
"""

from __future__ import annotations

import ctypes
import functools
import zlib
from collections.abc import Callable
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import library

MOST_BYTES = 32_000_000
"""Of a batch without its compression. A producer's batch has some megabytes at most."""
_CHUNK = 262_144
_GZIP = 16 + zlib.MAX_WBITS
_XERIAL, _XERIAL_HEADER = b"\x82SNAPPY\0", 16
"""How a stream of blocks begins that Java's producer has written, and what precedes its blocks."""
_LZ4F_VERSION = 100
_LONG_LITERAL = 60


class CodecError(Exception):
    """A batch cannot be decompressed; the text says which compression, and why."""


def use() -> None:
    """Let kafka-python decompress with these functions, and show names of headers that are no text.

    It refuses a whole batch if the name of one header is not UTF-8.
    """
    for module in (library.default_records, library.legacy_records):
        for name, decompress in _CODECS.items():
            setattr(module, f"{name}_decode", decompress)
    for name in _CODECS:
        setattr(library.codec, f"has_{name}", lambda: True)
    batch = library.default_records.DefaultRecordBatch
    if not hasattr(batch._read_msg, "__wrapped__"):
        batch._read_msg = _with_any_names(batch._read_msg)


def _codec(name: str) -> Callable[[Callable[[bytes], bytes]], Callable[[Any], bytes]]:
    def decorate(decompress: Callable[[bytes], bytes]) -> Callable[[Any], bytes]:
        @functools.wraps(decompress)
        def decompressed(data: Any) -> bytes:
            try:
                return decompress(bytes(data))
            except (ValueError, IndexError, zlib.error) as error:
                message = f"their batch is compressed with {name}, and {error or 'damaged'}"
                raise CodecError(message) from error

        return decompressed

    return decorate


def _append(output: bytearray, data: bytes | bytearray) -> None:
    if len(output) + len(data) > MOST_BYTES:
        message = f"has more than {MOST_BYTES // 1_000_000} MB without it"
        raise ValueError(message)
    output += data


def _library(name: str) -> Any:
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        message = f"this host does not have the library {name}"
        raise ValueError(message) from error


@_codec("gzip")
def gzip(data: bytes) -> bytes:
    """Return what was compressed with gzip; there may be several members."""
    output = bytearray()
    while data:
        member = zlib.decompressobj(_GZIP)
        while not member.eof:
            chunk = member.decompress(data, _CHUNK)
            data = member.unconsumed_tail
            if not chunk and not data and not member.eof:
                message = "ends too early"
                raise ValueError(message)
            _append(output, chunk)
        data = member.unused_data
    return bytes(output)


class _Buffer(ctypes.Structure):
    """A ZSTD_inBuffer or ZSTD_outBuffer (zstd.h)."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("position", ctypes.c_size_t),
    )


@_codec("zstd")
def zstd(data: bytes) -> bytes:
    """Return what was compressed with Zstandard; there may be several frames."""
    functions = _library("libzstd.so.1")
    functions.ZSTD_createDCtx.restype = ctypes.c_void_p
    functions.ZSTD_getErrorName.restype = ctypes.c_char_p
    functions.ZSTD_decompressStream.restype = ctypes.c_size_t
    context = ctypes.c_void_p(functions.ZSTD_createDCtx())
    source = ctypes.create_string_buffer(data, len(data))
    chunk = ctypes.create_string_buffer(_CHUNK)
    source_buffer = _Buffer(ctypes.addressof(source), len(data), 0)
    output = bytearray()
    remaining = 1
    try:
        while True:
            taken = _Buffer(ctypes.addressof(chunk), _CHUNK, 0)
            remaining = functions.ZSTD_decompressStream(
                context, ctypes.byref(taken), ctypes.byref(source_buffer)
            )
            if functions.ZSTD_isError(ctypes.c_size_t(remaining)):
                name = functions.ZSTD_getErrorName(ctypes.c_size_t(remaining)).decode()
                message = f"cannot be decompressed: {name}"
                raise ValueError(message)
            _append(output, chunk.raw[: taken.position])
            if source_buffer.position == source_buffer.size and taken.position < _CHUNK:
                break
    finally:
        functions.ZSTD_freeDCtx(context)
    if remaining:
        message = "ends too early"
        raise ValueError(message)
    return bytes(output)


@_codec("lz4")
def lz4(data: bytes) -> bytes:
    """Return what was compressed with LZ4, in frames."""
    functions = _library("liblz4.so.1")
    functions.LZ4F_getErrorName.restype = ctypes.c_char_p
    functions.LZ4F_decompress.restype = ctypes.c_size_t
    functions.LZ4F_createDecompressionContext.restype = ctypes.c_size_t
    context = ctypes.c_void_p()
    if functions.LZ4F_createDecompressionContext(ctypes.byref(context), _LZ4F_VERSION):
        raise MemoryError
    source = ctypes.create_string_buffer(data, len(data))
    chunk = ctypes.create_string_buffer(_CHUNK)
    output = bytearray()
    position, remaining = 0, 1
    try:
        while True:
            size = ctypes.c_size_t(_CHUNK)
            consumed = ctypes.c_size_t(len(data) - position)
            remaining = functions.LZ4F_decompress(
                context,
                chunk,
                ctypes.byref(size),
                ctypes.c_void_p(ctypes.addressof(source) + position),
                ctypes.byref(consumed),
                None,
            )
            if functions.LZ4F_isError(ctypes.c_size_t(remaining)):
                name = functions.LZ4F_getErrorName(ctypes.c_size_t(remaining)).decode()
                message = f"cannot be decompressed: {name}"
                raise ValueError(message)
            position += consumed.value
            _append(output, chunk.raw[: size.value])
            if position == len(data) and size.value < _CHUNK:
                break
    finally:
        functions.LZ4F_freeDecompressionContext(context)
    if remaining:
        message = "ends too early"
        raise ValueError(message)
    return bytes(output)


@_codec("snappy")
def snappy(data: bytes) -> bytes:
    """Return what was compressed with Snappy: one block, or those of Java's producer."""
    output = bytearray()
    if not data.startswith(_XERIAL):
        _append_block(output, data)
        return bytes(output)
    position = _XERIAL_HEADER
    while position < len(data):
        size = int.from_bytes(data[position : position + 4], "big")
        position += 4
        _append_block(output, data[position : position + size])
        position += size
    return bytes(output)


def _append_block(output: bytearray, data: bytes) -> None:
    """Append what a block of Snappy contains (format_description.txt of Google's Snappy)."""
    size = position = shift = 0
    while True:
        byte = data[position]
        position += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    block = bytearray()
    if len(output) + size > MOST_BYTES:
        _append(output, bytes(MOST_BYTES + 1 - len(output)))
    while position < len(data) and len(block) <= size:
        tag = data[position]
        position += 1
        if tag & 3 == 0:
            length = tag >> 2
            if length >= _LONG_LITERAL:
                count = length - _LONG_LITERAL + 1
                length = int.from_bytes(data[position : position + count], "little")
                position += count
            block += data[position : position + length + 1]
            position += length + 1
            continue
        if tag & 3 == 1:
            length, distance = 4 + (tag >> 2 & 7), tag >> 5 << 8 | data[position]
            position += 1
        else:
            width = 2 if tag & 3 == 2 else 4
            length = (tag >> 2) + 1
            distance = int.from_bytes(data[position : position + width], "little")
            position += width
        if not 0 < distance <= len(block):
            message = "is damaged"
            raise ValueError(message)
        begin = len(block) - distance
        repeated = bytes(block[begin : begin + length])
        block += (repeated * (length // len(repeated) + 1))[:length]
    if len(block) != size:
        message = "is damaged"
        raise ValueError(message)
    _append(output, block)


_CODECS = {"gzip": gzip, "snappy": snappy, "lz4": lz4, "zstd": zstd}


class _EscapedText(bytes):
    """Bytes of which those that are not UTF-8 are shown escaped."""

    def decode(self, *_: str) -> str:
        return super().decode("utf-8", "backslashreplace")


class _EscapedBuffer(bytearray):
    """A batch with parts of `_EscapedText`."""

    def __getitem__(self, key: Any) -> Any:
        selected = super().__getitem__(key)
        return _EscapedText(selected) if isinstance(key, slice) else selected


def _with_any_names(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(read)
    def read_record(batch: Any) -> Any:
        try:
            return read(batch)
        except UnicodeDecodeError:
            batch._buffer = _EscapedBuffer(batch._buffer)
            return read(batch)

    return read_record
