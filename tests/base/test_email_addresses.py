"""Which texts are e-mail addresses, where mail to them goes, and by which name a person is found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.email_addresses import MAX_LENGTH, email_address
from chalicelib.base.errors import BadRequest


@pytest.mark.parametrize(
    ("text", "written", "name"),
    [
        ("ann@example.com", "ann@example.com", "ann@example.com"),
        ("Ann.O'Neil+x@Sub.Example.COM", "Ann.O'Neil+x@sub.example.com", "ann.o'neil+x@sub.example.com"),
        ("ann@bücher.example", "ann@xn--bcher-kva.example", "ann@xn--bcher-kva.example"),
        ("ann@bu\u0308cher.example", "ann@xn--bcher-kva.example", "ann@xn--bcher-kva.example"),
        ("ann@BÜCHER.example", "ann@xn--bcher-kva.example", "ann@xn--bcher-kva.example"),
        ("ann@straße.example", "ann@xn--strae-oqa.example", "ann@xn--strae-oqa.example"),
        ("ann@例え.テスト", "ann@xn--r8jz45g.xn--zckzah", "ann@xn--r8jz45g.xn--zckzah"),
        ("ann@xn--bcher-kva.example", "ann@xn--bcher-kva.example", "ann@xn--bcher-kva.example"),
    ],
)
def test_mail_goes_to_the_local_part_as_written_at_the_domain_of_dns(text: str, written: str, name: str) -> None:
    address = email_address(text)
    assert (address.written, address.name) == (written, name)


def test_the_address_of_an_address_is_itself() -> None:
    assert email_address(email_address("Ann@BÜCHER.example").written).written == "Ann@xn--bcher-kva.example"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ann",
        "@example.com",
        "ann@",
        "ann@example",
        "ann@.com",
        "ann@example.com.",
        "ann@@example.com",
        "a@b@example.com",
        "ann@example..com",
        "ann..x@example.com",
        ".ann@example.com",
        "ann.@example.com",
        "ann @example.com",
        " ann@example.com",
        "ann@example.com\n",
        "ann@example.com\r\nBcc: bob@example.com",
        "ann\r\nBcc: bob@example.com@example.com",
        "ann@exa\nmple.com",
        "ann\0@example.com",
        "ann\u200b@example.com",
        "ann\ud800@example.com",
        "ann@exam\ud800ple.com",
        '"ann"@example.com',
        '"ann smith"@example.com',
        "ann(comment)@example.com",
        "<ann@example.com>",
        "Ann <ann@example.com>",
        "ann,bob@example.com",
        "ann;bob@example.com",
        "ann\\@example.com",
        "ärger@example.com",
        "ann@[203.0.113.7]",
        "ann@-example.com",
        "ann@example-.com",
        "ann@exa_mple.com",
        "ann@exa*mple.com",
        "ann@shop。example",
        "ann@" + "x" * 64 + ".com",
        "ann@ü" + "x" * 64 + ".com",
        "ann@\u2028.com",
        "a" * 65 + "@example.com",
        "a" * 64 + "@" + "x" * 250 + ".exam",
        "ann@" + "example." * 40 + "com",
        "ann@" + "ü." * 100 + "com",
    ],
)
def test_what_mail_cannot_be_sent_to_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="^email must"):
        email_address(text)


def test_an_address_has_254_characters_at_most() -> None:
    host = ".".join(["x" * 63] * 4)[: MAX_LENGTH - len("ann@.com")]
    assert len(email_address(f"ann@{host}.com").written) == MAX_LENGTH == 254
    with pytest.raises(BadRequest, match="at most 254 characters"):
        email_address(f"anna@{host}.com")


@given(st.text(), st.text())
def test_whatever_is_accepted_is_one_line_of_ascii_with_one_at(local: str, domain: str) -> None:
    for text in (f"{local}@{domain}", f"{local}@{domain}.example", f"ann@{domain}.example"):
        try:
            written = email_address(text).written
        except BadRequest:
            continue
        assert written.isascii() and written.isprintable() and written.count("@") == 1 and len(written) <= MAX_LENGTH
        assert not set(' "()<>,;:\\[]') & set(written)
