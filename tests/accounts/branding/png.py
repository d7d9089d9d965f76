"""PNG images written by hand, whole or broken on purpose."""

import zlib
from base64 import b64encode

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
Chunk = tuple[bytes, bytes]


def chunk(kind: bytes, body: bytes, crc: int | None = None) -> bytes:
    found = zlib.crc32(kind + body) if crc is None else crc
    return len(body).to_bytes(4) + kind + body + found.to_bytes(4)


def header(width: int = 8, height: int = 8, depth: int = 8, colour: int = 6, interlace: int = 0) -> Chunk:
    return b"IHDR", width.to_bytes(4) + height.to_bytes(4) + bytes((depth, colour, 0, 0, interlace))


def pixels(width: int = 8, height: int = 8, depth: int = 8, colour: int = 6) -> bytes:
    """Rows of zeros, not yet packed."""
    return (b"\x00" + bytes((width * depth * _CHANNELS[colour] + 7) // 8)) * height


def picture(packed: bytes | None = None) -> Chunk:
    return b"IDAT", zlib.compress(pixels()) if packed is None else packed


END: Chunk = (b"IEND", b"")


def png(*chunks: Chunk) -> bytes:
    return SIGNATURE + b"".join(chunk(*each) for each in chunks or (header(), picture(), END))


def text(data: bytes) -> str:
    return b64encode(data).decode()
