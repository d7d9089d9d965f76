"""A logo is a PNG and nothing besides, whatever else its bytes are."""

import zlib
from base64 import b64decode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.accounts.branding.images import MAX_BYTES, MAX_SIDE, sanitised_logo, size_of
from chalicelib.base.errors import BadRequest
from tests.accounts.branding.png import END, SIGNATURE, Chunk, chunk, header, picture, pixels, png, text

PALETTE: Chunk = (b"PLTE", bytes(6))


def kept(data: bytes) -> bytes:
    return b64decode(sanitised_logo(text(data)))


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


NO_IMAGES = {
    "nothing": b"",
    "a signature alone": SIGNATURE,
    "another format": b"GIF89a" + bytes(50),
    "an SVG": b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>",
    "without an end": after(picture()),
    "cut off": png()[:-5],
    "damaged": damaged(),
    "without a picture": after(END),
    "an end that holds something": after(picture(), (b"IEND", b"x")),
    "without a header": png(picture(), END),
    "two headers": after(header(), picture(), END),
    "a header of another length": png((b"IHDR", bytes(12)), picture(), END),
    "no pixels wide": png(header(width=0), picture(), END),
    "too wide": png(header(width=MAX_SIDE + 1), picture(), END),
    "too high": png(header(height=2**31), picture(), END),
    "a depth that there is not": png(header(depth=3), picture(), END),
    "a colour type that there is not": png(header(colour=5), picture(), END),
    "an interlacing that there is not": png(header(interlace=2), picture(), END),
    "a part that no decoder may skip": after((b"ABCD", b""), picture(), END),
    "a part without a name": after((b"\x00\x01\x02\x03", b""), picture(), END),
    "pictures apart": after(picture(), (b"tEXt", b""), picture(), END),
    "a palette of no size": png(header(colour=3), (b"PLTE", b""), picture(), END),
    "a palette of half a colour": png(header(colour=3), (b"PLTE", bytes(4)), picture(), END),
    "a palette that is too large": png(header(colour=3, depth=1), (b"PLTE", bytes(9)), picture(), END),
    "a palette too late": after(picture(), PALETTE, END),
    "no palette": png(header(colour=3), picture(zlib.compress(pixels(colour=3))), END),
    "a palette of grey": png(header(colour=0), PALETTE, picture(zlib.compress(pixels(colour=0))), END),
    "transparency of what has its own": after((b"tRNS", bytes(6)), picture(), END),
    "more transparency than colours": png(header(colour=3), PALETTE, (b"tRNS", bytes(3)), picture(), END),
    "pixels that are not packed": after(picture(pixels()), END),
    "pixels cut off": after(picture(zlib.compress(pixels())[:-6]), END),
    "too few pixels": after(picture(zlib.compress(pixels()[:-1])), END),
    "too many pixels": after(picture(zlib.compress(pixels() + b"\x00")), END),
    "something behind the pixels": after(picture(zlib.compress(pixels()) + b"PK"), END),
    "a filter that there is not": after(picture(zlib.compress(b"\x05" + pixels()[1:])), END),
    "a bomb": after(picture(zlib.compress(bytes(20_000_000))), END),
}


@pytest.mark.parametrize("name", NO_IMAGES)
def test_what_is_no_image_is_refused_in_a_sentence(name: str) -> None:
    with pytest.raises(BadRequest, match="^logo"):
        kept(NO_IMAGES[name])


def test_it_is_at_most_32_kb() -> None:
    image = png() + bytes(MAX_BYTES - len(png()))
    assert kept(image) == png()
    for longer in (image + b"\x00", image + bytes(10**6)):
        with pytest.raises(BadRequest, match="larger than 32 kB"):
            kept(longer)


@pytest.mark.parametrize("sent", ["", "%%%", "data:image/png;base64," + text(png()), text(png())[:-1], "é"])
def test_what_is_no_base64_is_refused(sent: str) -> None:
    with pytest.raises(BadRequest, match="^logo"):
        sanitised_logo(sent)


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
