"""Amounts and percentages: what is read, what is refused, and that nothing is ever rounded."""

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.errors import BadRequest
from chalicelib.base.money import MAX_UINT256, Fee, fee_of, format_amount, parse_amount, parse_percentage

amounts = st.integers(1, MAX_UINT256)
decimals = st.integers(0, 36)


@pytest.mark.parametrize(
    ("text", "places", "units"),
    [
        ("12.50", 6, 12_500_000),
        ("10", 18, 10**19),
        ("0.000001", 6, 1),
        ("1", 0, 1),
        ("0.10", 2, 10),
        (str(MAX_UINT256), 0, MAX_UINT256),
    ],
)
def test_a_plain_decimal_is_read_in_base_units(text: str, places: int, units: int) -> None:
    assert parse_amount(text, places) == units


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 1",
        "1 ",
        "1\n",
        "-1",
        "+1",
        "1e3",
        "1E3",
        "NaN",
        "Infinity",
        "0x10",
        "1_000",
        "1,5",
        "1,000",
        ".5",
        "5.",
        ".",
    ]
    + ["1.2.3", "１", "١", "½", "007", "00", "00.5", "1.5e0", "--1", "one", "\x00", "1\u200b"],
)
def test_anything_but_a_plain_decimal_is_refused_with_how_to_write_it(text: str) -> None:
    with pytest.raises(BadRequest, match="plain decimal number such as 12.50"):
        parse_amount(text, 6)


@pytest.mark.parametrize("text", ["0", "0.0", "0.000000"])
def test_zero_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="greater than 0"):
        parse_amount(text, 6)


@pytest.mark.parametrize(
    ("text", "places"), [("1.0000001", 6), ("1.0000000", 6), ("1.0", 0), ("0." + "1" * 80, 18)]
)
def test_more_decimals_than_the_currency_has_are_refused(text: str, places: int) -> None:
    with pytest.raises(BadRequest, match=f"the currency has {places}"):
        parse_amount(text, places)


@pytest.mark.parametrize(
    "text", ["1" * 79, "9" * 80, "1" * 100_000, str(MAX_UINT256 + 1), f"{MAX_UINT256}.5"]
)
def test_more_than_a_token_can_hold_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="too large"):
        parse_amount(text, 1 if "." in text else 0)


def test_the_largest_amount_depends_on_the_decimals() -> None:
    with pytest.raises(BadRequest, match="256 bits"):
        parse_amount(str(MAX_UINT256), 6)


@given(units=amounts, places=decimals)
def test_an_amount_survives_being_written_and_read(units: int, places: int) -> None:
    text = format_amount(units, places)
    assert parse_amount(text, places) == units
    assert Fraction(text) == Fraction(units, 10**places)


@given(units=amounts, places=decimals)
def test_a_written_amount_has_no_exponent_and_no_trailing_zeros(units: int, places: int) -> None:
    text = format_amount(units, places)
    assert set(text) <= set("0123456789.")
    assert "." not in text or text[-1] not in "0."


@pytest.mark.parametrize(
    ("units", "places", "text"),
    [
        (10_000_000, 6, "10"),
        (500_000, 6, "0.5"),
        (0, 18, "0"),
        (1, 18, "0." + "0" * 17 + "1"),
        (100, 0, "100"),
    ],
)
def test_amounts_are_written_as_people_write_them(units: int, places: int, text: str) -> None:
    assert format_amount(units, places) == text


def test_a_negative_amount_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="never negative"):
        format_amount(-1, 6)


@pytest.mark.parametrize("text", ["0", "1", "2.5", "100", "100.0", "0.000000000000000001"])
def test_a_percentage_is_read_exactly(text: str) -> None:
    assert parse_percentage(text) == Decimal(text)


@pytest.mark.parametrize(
    "text",
    ["", "-1", "+1", "100.000000000000000001", "101", "1e1", "NaN", "1 ", " 1", "1%", ".5", "5.", "007", "１"]
    + ["0.0000000000000000001", "9" * 100_000, "1,5"],
)
def test_a_percentage_outside_0_to_100_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="feePercentage must be a plain decimal number from 0 to 100"):
        parse_percentage(text)


@given(amount=amounts, hundredths=st.integers(0, 100 * 10**18))
def test_a_fee_is_the_exact_floor_of_its_share(amount: int, hundredths: int) -> None:
    percentage = parse_percentage(format_amount(hundredths, 18))
    with localcontext() as context:
        context.prec = 3  # a coarse context must not matter
        fee = fee_of(amount, percentage)
    assert fee == amount * hundredths // (100 * 10**18)
    assert 0 <= fee <= amount


def test_a_fee_of_one_percent_of_twelve_and_a_half() -> None:
    assert fee_of(12_500_000, Decimal(1)) == 125_000
    assert fee_of(99, Decimal(1)) == 0
    assert fee_of(10**30 + 1, Decimal(100)) == 10**30 + 1


@pytest.mark.parametrize("percentage", ["0.000000000000000001", "0.5", "1", "100"])
def test_a_fee_is_charged_if_it_has_an_address_and_a_percentage_above_zero(percentage: str) -> None:
    assert Fee(percentage, "0x12").is_charged
    assert not Fee(percentage, None).is_charged
    for nothing in ("0", "0.0", None):
        assert not Fee(nothing, "0x12").is_charged
    assert not Fee().is_charged
