"""Give the headers of a tar file the same bytes, whichever GNU tar has written it.

    python artifacts/headers.py FILE

Since version 1.35 (Debian 13) GNU tar leaves two fields of a ustar header empty that are of devices
alone, and before it wrote zeros. The recorded sums are of files with zeros.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

BLOCK = 512
_SIZE, _CHECKSUM, _TYPE, _MAGIC = slice(124, 136), slice(148, 156), slice(156, 157), slice(257, 265)
_DEVICE = slice(329, 345)
_USTAR = b"ustar\x0000"
_ZEROS = b"0000000\x00" * 2


def normalized(header: bytes) -> bytes:
    """Return a header with zeros in the fields of devices, and the checksum that it then has."""
    if header[_MAGIC] != _USTAR or header[_TYPE] in (b"3", b"4"):
        return header
    changed = bytearray(header)
    changed[_DEVICE] = _ZEROS
    changed[_CHECKSUM] = b" " * 8
    changed[_CHECKSUM] = b"%06o\x00 " % sum(changed)
    return bytes(changed)


def normalize(path: Path) -> None:
    """Rewrite the headers of a tar file in place.

    Raises:
        ValueError: it is no tar file of whole blocks.

    """
    with path.open("r+b") as stream:
        position = 0
        while (header := stream.read(BLOCK)).strip(b"\x00"):
            if len(header) != BLOCK:
                message = f"{path} ends in the middle of a header"
                raise ValueError(message)
            stream.seek(position)
            stream.write(normalized(header))
            size = int(header[_SIZE].strip(b"\x00 "), 8)
            position = stream.seek(position + BLOCK + -(-size // BLOCK) * BLOCK)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="tar file")
    normalize(parser.parse_args().file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
