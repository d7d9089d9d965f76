"""Checks that a logo is a PNG image, and removes everything from it that is not needed to show the image.

    signature | IHDR | PLTE? | tRNS? | IDAT... | IEND        each chunk: length | type | data | CRC-32 of type and data

Texts, profiles, animations and bytes after the end are removed. This also removes the other part of a file that is
valid in two formats.
"""

import binascii
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator
from struct import unpack_from

from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen

MAX_KB = 32
MAX_BYTES = MAX_KB * 1024
MAX_SIDE = 512
MAX_BASE64 = -(-MAX_BYTES // 3) * 4
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Samples per pixel by colour type: grey, RGB, palette, grey with alpha, RGBA."""
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_PALETTE, _RGB, _GREY = 3, 2, 0
_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""The passes of an interlaced image: first column, first row, column step, row step."""
_FILTERS = 5


@frozen
class _Header:
    width: int
    height: int
    depth: int
    colour: int
    interlaced: bool


def sanitise_logo(text: str) -> str:
    """The PNG in base64 without the parts that the image does not need. Raises BadRequest that says what is wrong."""
    if len(text) > MAX_BASE64:
        raise BadRequest(f"logo: the image is larger than {MAX_KB} kB")
    try:
        data = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise BadRequest("logo must be a PNG image in base64") from None
    if len(data) > MAX_BYTES:
        raise BadRequest(f"logo: the image is larger than {MAX_KB} kB")
    try:
        return b64encode(_sanitise_png(data)).decode()
    except ValueError as reason:
        raise BadRequest(f"logo must be a PNG image of at most {MAX_SIDE} x {MAX_SIDE} pixels: {reason}") from None


def size_of(logo: str) -> tuple[int, int]:
    """Width and height of a sanitised PNG in base64, in pixels."""
    width, height = unpack_from(">II", b64decode(logo), 16)
    return width, height


def _sanitise_png(data: bytes) -> bytes:
    """Raises ValueError if the data is not a valid PNG."""
    if not data.startswith(_SIGNATURE):
        raise ValueError("it does not begin as one")
    parts: dict[bytes, bytes] = {}
    last = b""
    for kind, body in _chunks(data):
        if kind in parts and not (kind == b"IDAT" and last == b"IDAT"):
            raise ValueError(f"{kind.decode()} comes twice")
        if (kind == b"IHDR") != (not last) or (kind in (b"PLTE", b"tRNS") and b"IDAT" in parts):
            raise ValueError("its parts are out of order")
        if kind == b"PLTE" and b"tRNS" in parts:
            raise ValueError("its parts are out of order")
        if kind in (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"):
            parts[kind] = parts.get(kind, b"") + body
        elif not kind[0] & 0x20:  # an upper-case first letter marks a critical chunk, which decoders must know
            raise ValueError("it has parts that are not known")
        last = kind
    if last != b"IEND" or b"IDAT" not in parts or parts[b"IEND"]:
        raise ValueError("it has no picture, or no end")
    header = _header(parts[b"IHDR"])
    _check_palette(header, parts)
    _check_pixels(header, parts[b"IDAT"])
    included = (kind for kind in (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND") if kind in parts)
    return _SIGNATURE + b"".join(_chunk(kind, parts[kind]) for kind in included)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Type and data of each chunk up to IEND. Raises ValueError for a truncated, misnamed or damaged chunk."""
    at = len(_SIGNATURE)
    while at < len(data):
        length, kind = int.from_bytes(data[at : at + 4]), data[at + 4 : at + 8]
        end = at + 8 + length
        if end + 4 > len(data):
            raise ValueError("it is cut off")
        if not kind.isalpha():
            raise ValueError("a part of it has no name")
        if zlib.crc32(data[at + 4 : end]) != int.from_bytes(data[end : end + 4]):
            raise ValueError("it is damaged")
        yield kind, data[at + 8 : end]
        if kind == b"IEND":
            return
        at = end + 4


def _chunk(kind: bytes, body: bytes) -> bytes:
    return len(body).to_bytes(4) + kind + body + zlib.crc32(kind + body).to_bytes(4)


def _header(body: bytes) -> _Header:
    if len(body) != 13:
        raise ValueError("its header has another length")
    width, height = int.from_bytes(body[:4]), int.from_bytes(body[4:8])
    depth, colour, compression, filtering, interlace = body[8:]
    if not (1 <= width <= MAX_SIDE and 1 <= height <= MAX_SIDE):
        raise ValueError(f"it has {width} x {height}")
    if depth not in _DEPTHS.get(colour, ()) or compression or filtering or interlace > 1:
        raise ValueError("its header names no format that there is")
    return _Header(width, height, depth, colour, interlace == 1)


def _check_palette(header: _Header, parts: dict[bytes, bytes]) -> None:
    palette, alpha = parts.get(b"PLTE"), parts.get(b"tRNS")
    if palette is not None:
        most = 1 << header.depth if header.colour == _PALETTE else 256
        if header.colour in (0, 4) or not palette or len(palette) % 3 or len(palette) // 3 > most:
            raise ValueError("its palette is not valid")
    elif header.colour == _PALETTE:
        raise ValueError("its palette is missing")
    if alpha is not None:
        lengths = {_GREY: (2,), _RGB: (6,), _PALETTE: range(1, len(palette or b"") // 3 + 1)}
        if len(alpha) not in lengths.get(header.colour, ()):
            raise ValueError("its transparency is not valid")


def _check_pixels(header: _Header, packed: bytes) -> None:
    """Raises ValueError unless the stream holds exactly the pixels. No more is inflated than the header announces."""
    rows = list(_rows(header))
    wanted = sum(rows)
    stream = zlib.decompressobj()
    try:
        pixels = stream.decompress(packed, wanted)
    except zlib.error:
        raise ValueError("its pixels cannot be unpacked") from None
    if len(pixels) != wanted or not stream.eof or stream.unused_data or stream.unconsumed_tail:
        raise ValueError("its pixels are more or fewer than its size has")
    at = 0
    for length in rows:
        if pixels[at] >= _FILTERS:
            raise ValueError("its pixels are not filtered as in any PNG")
        at += length


def _rows(header: _Header) -> Iterator[int]:
    """The number of bytes of each row: one for the filter, and those of the pixels."""
    bits = _CHANNELS[header.colour] * header.depth
    for first_column, first_row, columns, rows in _ADAM7 if header.interlaced else ((0, 0, 1, 1),):
        width = -(-(header.width - first_column) // columns)
        height = -(-(header.height - first_row) // rows)
        if width:  # without columns a pass has no rows
            yield from [1 + (width * bits + 7) // 8] * height
