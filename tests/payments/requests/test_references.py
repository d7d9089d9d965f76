"""Payment references and the topic they are found by."""

from collections.abc import Callable

import pytest

from chalicelib.payments.requests.references import payment_reference, reference_topic

PAYEE = "0xf17f52151EbEF6C7334FAD080c5704D77216b732"


def test_a_reference_is_the_last_8_bytes_of_the_hash_of_the_text() -> None:
    assert payment_reference("abcd", "salt", PAYEE).hex() == "86dfbccad783599a"


@pytest.mark.parametrize("change", [str.upper, str.lower])
def test_the_case_of_no_part_matters(change: Callable[[str], str]) -> None:
    assert payment_reference("ABcd", "SAlt", change(PAYEE)) == payment_reference("abcd", "salt", PAYEE)


def test_every_part_changes_the_reference() -> None:
    references = {
        payment_reference("abcd", "salt", PAYEE),
        payment_reference("abce", "salt", PAYEE),
        payment_reference("abcd", "salz", PAYEE),
        payment_reference("abcd", "salt", PAYEE[:-1] + "3"),
    }
    assert len(references) == 4


def test_a_topic_is_the_hash_of_the_raw_reference() -> None:
    topic = reference_topic(bytes.fromhex("86dfbccad783599a"))
    assert topic == "0xe15e8f380cc2383c6683ea6f7916e6e0ec3335c9c85fcc1cbcfd252f99a6117e"
