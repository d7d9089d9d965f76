"""A logo is a PNG and nothing besides, whatever else its bytes are."""

import zlib
from base64 import b64decode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.accounts.branding.images import MAX_BASE64, MAX_BYTES, MAX_SIDE, sanitise_logo, size_of
from chalicelib.base.errors import BadRequest
from tests.accounts.branding.png import END, SIGNATURE, Chunk, chunk, header, picture, pixels, png, text

PALETTE: Chunk = (b"PLTE", bytes(6))


def kept(data: bytes) -> bytes:
    return b64decode(sanitise_logo(text(data)))


@pytest.mark.parametrize(
    ("depth", "colour"),
    [(1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (8, 2), (16, 2), (1, 3), (2, 3), (4, 3), (8, 3), (8, 4), (16, 4), (8, 6), (16, 6)],
)
def test_every_format_that_png_has_is_taken(depth: int, colour: int) -> None:
    palette = [PALETTE] if colour == 3 else []
    packed = zlib.compress(pixels(13, 5, depth, colour))
    image = png(header(13, 5, depth, colour), *palette, picture(packed), END)
    assert kept(image) == image
    assert size_of(text(image)) == (13, 5)


def test_an_interlaced_one_is_taken() -> None:
    sizes = [(1, 1), (1, 1), (2, 1), (2, 2), (4, 2), (4, 4), (8, 4)]  # of the passes of 8 x 8
    packed = zlib.compress(b"".join(pixels(width, height) for width, height in sizes))
    image = png(header(interlace=1), picture(packed), END)
    assert kept(image) == image


def test_a_picture_in_several_parts_becomes_one_part() -> None:
    _, packed = picture()
    assert kept(png(header(), (b"IDAT", packed[:5]), (b"IDAT", packed[5:]), END)) == png()


@pytest.mark.parametrize("kind", [b"tEXt", b"iTXt", b"eXIf", b"iCCP", b"acTL", b"fdAT", b"gAMA"])
def test_what_is_not_the_picture_goes(kind: bytes) -> None:
    assert kept(png(header(), (kind, b"<script>alert(1)</script>"), picture(), (kind, b"again"), END)) == png()


def test_what_follows_the_end_goes() -> None:
    assert kept(png() + b"<html><script>alert(1)</script>") == png()


def test_palette_and_transparency_stay() -> None:
    packed = zlib.compress(pixels(colour=3))
    image = png(header(colour=3), PALETTE, (b"tRNS", b"\x00"), picture(packed), END)
    assert kept(image) == image


def damaged() -> bytes:
    return SIGNATURE + chunk(*header()) + chunk(*picture(), crc=1) + chunk(*END)


def after(*chunks: Chunk) -> bytes:
    return png(header(), *chunks)


def grey(depth: int, *chunks: Chunk, colour: int = 0) -> bytes:
    """A picture of 8 x 8 pixels of a depth, with chunks before its pixels."""
    return png(header(depth=depth, colour=colour), *chunks, picture(zlib.compress(pixels(depth=depth, colour=colour))), END)


def palette(colours: int) -> Chunk:
    return b"PLTE", bytes(3 * colours)


def transparency(length: int) -> Chunk:
    return b"tRNS", bytes(length)


ALTERED_HEADER = {at: bytes((*header()[1][:at], 1, *header()[1][at + 1 :])) for at in (10, 11)}
_, PACKED = picture()
NO_IMAGES = {
    "it does not begin as one": {
        "nothing": b"",
        "another format": b"GIF89a" + bytes(50),
        "an SVG": b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>",
        "a whole one with another signature": b"\x88" + png()[1:],
    },
    "it has no picture, or no end": {
        "a signature alone": SIGNATURE,
        "without an end": after(picture()),
        "without a picture": after(END),
        "an end that holds something": after(picture(), (b"IEND", b"x")),
    },
    "it is cut off": {"one byte": png()[:-1], "five bytes": png()[:-5]},
    "it is damaged": {"another checksum": damaged()},
    "a part of it has no name": {"four bytes": after((b"\x00\x01\x02\x03", b""), picture(), END)},
    "it has parts that are not known": {"a part that no decoder may skip": after((b"ABCD", b""), picture(), END)},
    "comes twice": {
        "two headers": after(header(), picture(), END),
        "two palettes": after(PALETTE, PALETTE, picture(), END),
        "pictures apart": after(picture(PACKED[:5]), (b"tEXt", b""), picture(PACKED[5:]), END),
    },
    "its parts are out of order": {
        "without a header": png(picture(), END),
        "a palette too late": after(picture(), PALETTE, END),
        "transparency too late": after(picture(), transparency(6), END),
        "a palette behind the transparency": after(transparency(6), PALETTE, picture(), END),
    },
    "its header has another length": {
        "shorter": png((b"IHDR", bytes(12)), picture(), END),
        "longer": png((b"IHDR", header()[1] + b"\x00"), picture(), END),
    },
    "it has 0 x 8": {"no pixels wide": png(header(width=0), picture(), END)},
    "it has 8 x 0": {"no pixels high": png(header(height=0), picture(), END)},
    "it has 513 x 8": {"too wide": png(header(width=MAX_SIDE + 1), picture(), END)},
    "it has 8 x 513": {"too high": png(header(height=MAX_SIDE + 1), picture(), END)},
    "it has 8 x 16777224": {"much too high": png(header(height=2**24 + 8), picture(), END)},
    "its header names no format that there is": {
        "an interlacing that there is not": png(header(interlace=2), picture(), END),
        "a compression that there is not": png((b"IHDR", ALTERED_HEADER[10]), picture(), END),
        "a filtering that there is not": png((b"IHDR", ALTERED_HEADER[11]), picture(), END),
    },
    "its palette is not valid": {
        "of no size": grey(8, palette(0), colour=3),
        "of half a colour": grey(8, (b"PLTE", bytes(4)), colour=3),
        "of two bytes": grey(8, (b"PLTE", bytes(2)), colour=3),
        "larger than two colours": grey(1, palette(3), colour=3),
        "larger than 256 colours of an index": grey(8, palette(257), colour=3),
        "larger than 256 colours beside RGB": grey(16, palette(257), colour=2),
        "of grey": grey(8, palette(1), colour=0),
        "of grey with alpha": grey(8, palette(1), colour=4),
    },
    "its palette is missing": {"none": grey(8, colour=3)},
    "its transparency is not valid": {
        "of what has its own": after(transparency(6), picture(), END),
        "of grey with alpha": grey(8, transparency(2), colour=4),
        "of grey, one byte": grey(8, transparency(1), colour=0),
        "of grey, three bytes": grey(8, transparency(3), colour=0),
        "of RGB, five bytes": grey(8, transparency(5), colour=2),
        "of RGB, seven bytes": grey(8, transparency(7), colour=2),
        "of RGB with a palette": grey(8, palette(8), transparency(5), colour=2),
        "of a palette, no byte": grey(8, palette(2), transparency(0), colour=3),
        "of a palette, more than colours": grey(8, palette(2), transparency(3), colour=3),
    },
    "its pixels cannot be unpacked": {"pixels that are not packed": after(picture(pixels()), END)},
    "its pixels are more or fewer than its size has": {
        "cut off": after(picture(zlib.compress(pixels())[:-6]), END),
        "without their checksum": after(picture(zlib.compress(pixels())[:-4]), END),
        "too few": after(picture(zlib.compress(pixels()[:-1])), END),
        "too many": after(picture(zlib.compress(pixels() + b"\x00")), END),
        "something behind them": after(picture(zlib.compress(pixels()) + b"PK"), END),
        "a bomb": after(picture(zlib.compress(bytes(20_000_000))), END),
    },
    "its pixels are not filtered as in any PNG": {
        "in the first row": after(picture(zlib.compress(b"\x05" + pixels()[1:])), END),
        "in the last row": after(picture(zlib.compress(pixels(height=7) + b"\x05" + pixels(height=1)[1:])), END),
    },
}


@pytest.mark.parametrize(("reason", "name"), [(reason, name) for reason, images in NO_IMAGES.items() for name in images])
def test_what_is_no_image_is_refused_with_its_reason(reason: str, name: str) -> None:
    with pytest.raises(BadRequest) as refused:
        kept(NO_IMAGES[reason][name])
    assert refused.value.message.startswith("logo must be a PNG image of at most 512 x 512 pixels: ")
    assert refused.value.message.endswith(reason)


def test_depths_and_colour_types_are_those_of_the_standard() -> None:
    standard = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
    for colour in range(8):
        for depth in range(18):
            chunks = (palette(1),) if colour == 3 else ()
            if depth in standard.get(colour, ()):
                image = grey(depth, *chunks, colour=colour)
                assert kept(image) == image
            else:
                with pytest.raises(BadRequest, match="its header names no format that there is"):
                    kept(png(header(depth=depth, colour=colour), *chunks, picture(), END))


@pytest.mark.parametrize(
    "image",
    [
        grey(1, palette(2), colour=3),
        grey(8, palette(256), transparency(256), colour=3),
        grey(8, palette(2), transparency(1), colour=3),
        grey(16, palette(256), colour=2),
        grey(8, transparency(2), colour=0),
        grey(8, transparency(6), colour=2),
    ],
    ids=len,
)
def test_palettes_and_transparency_of_every_length_that_there_is_are_taken(image: bytes) -> None:
    assert kept(image) == image


@pytest.mark.parametrize(("width", "height", "level"), [(1, 1, 0), (1, 1, 9), (512, 1, 0), (1, 512, 0), (512, 512, 9)])
def test_a_side_has_1_to_512_pixels_however_they_are_packed(width: int, height: int, level: int) -> None:
    packed = zlib.compress(pixels(width, height, 1, 0), level)
    image = png(header(width, height, 1, 0), picture(packed), END)
    assert kept(image) == image
    assert size_of(text(image)) == (width, height)


def test_rows_of_less_than_a_byte_are_filled_up() -> None:
    for width in range(1, 18):
        for depth in (1, 2, 4):
            image = png(header(width, 3, depth, 0), picture(zlib.compress(pixels(width, 3, depth, 0))), END)
            assert kept(image) == image


PASSES = ("16462646", "77777777", "56565656", "77777777", "36463646", "77777777", "56565656", "77777777")
"""Which pass of an interlaced image has the pixel, in squares of 8 x 8 (PNG, third edition, 8.2)."""


def interlaced(width: int, height: int) -> bytes:
    data = b""
    for number in "1234567":
        for row in range(height):
            columns = sum(PASSES[row % 8][column % 8] == number for column in range(width))
            data += b"\x04" + b"\xff" * columns if columns else b""
    return data


def test_interlaced_pictures_of_every_size_have_their_passes() -> None:
    for width in range(1, 18):
        for height in range(1, 18):
            image = png(header(width, height, 8, 0, 1), picture(zlib.compress(interlaced(width, height))), END)
            assert kept(image) == image, (width, height)


def test_a_filter_begins_each_row_and_pixels_may_be_anything() -> None:
    image = after(picture(zlib.compress(b"".join(bytes((row % 5,)) + b"\xff" * 32 for row in range(8)))), END)
    assert kept(image) == image


def test_it_is_at_most_32_kb() -> None:
    image = png() + bytes(MAX_BYTES - len(png()))
    assert MAX_BYTES == 32_768 and len(text(image)) == MAX_BASE64
    assert kept(image) == png()
    for longer in (image + b"\x00", image + bytes(10**6)):
        with pytest.raises(BadRequest, match="larger than 32 kB"):
            kept(longer)


def test_a_text_that_is_too_long_is_not_decoded() -> None:
    for sent in ("%" * (MAX_BASE64 + 1), "A" * 10**6):
        with pytest.raises(BadRequest, match="^logo: the image is larger than 32 kB$"):
            sanitise_logo(sent)
    with pytest.raises(BadRequest, match="^logo must be a PNG image in base64$"):
        sanitise_logo("%" * MAX_BASE64)


@pytest.mark.parametrize("sent", [text(png()) + "\n", "%%%%" + text(png())])
def test_base64_holds_no_other_characters(sent: str) -> None:
    with pytest.raises(BadRequest, match="^logo must be a PNG image in base64$"):
        sanitise_logo(sent)


@pytest.mark.parametrize("sent", ["", "%%%", "data:image/png;base64," + text(png()), text(png())[:-1], "é"])
def test_what_is_no_base64_is_refused(sent: str) -> None:
    with pytest.raises(BadRequest, match="^logo"):
        sanitise_logo(sent)


@settings(max_examples=150, deadline=None)
@given(at=st.integers(0, len(png()) - 1), byte=st.integers(0, 255))
def test_no_altered_byte_does_more_than_be_refused(at: int, byte: int) -> None:
    image = png()
    altered = image[:at] + bytes((byte,)) + image[at + 1 :]
    try:
        found = kept(altered)
    except BadRequest:
        return
    assert found == image
