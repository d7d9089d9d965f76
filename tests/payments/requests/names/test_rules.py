"""Names: normalized as viem does it, and refused in words with the form that is meant."""

import random
import unicodedata

import pytest

from chalicelib.base.errors import BadRequest
from chalicelib.payments.requests.names.rules import MOST_NAMES, NamedField, check_count, check_normalized, is_name
from tests.oracles.node import ask

ALPHABET = "abcxyz019-_.'\u00df\u00e9\u0430\u0435\u03b1\u03bf\u0491\u4e2d\u3042\uac00\u05d0\u0627\u200d\u200c\ufe0f\u2164\uff41\u0301\U0001f468\U0001f469\U0001f1e9\u00b7 $"


def texts(count: int) -> list[str]:
    """Names of letters that are easily mistaken, and of any letter."""
    chance, found = random.Random(11), []
    while len(found) < count:
        anything = [chr(chance.randrange(0x20, 0x2FFFF)) for _ in range(3)]
        label = "".join(chance.choice((*ALPHABET, *anything)) for _ in range(chance.randrange(1, 7)))
        if not any(unicodedata.category(each) == "Cs" for each in label):
            found.append(label + ".eth")
    return found


def test_a_name_is_accepted_only_if_viem_normalizes_it_to_itself() -> None:
    """The versions of Unicode may differ: a letter that is newer in one of them is refused by the other."""
    sent = [*texts(1_500), "alice.eth", "faceb\u00f6\u00f6k.eth", "\U0001f468\u200d\U0001f469\u200d\U0001f467.eth", "vitalik.eth", "_a.eth"]
    accepted = 0
    for text, answer in zip(sent, ask([{"ask": "normalize", "name": each} for each in sent]), strict=True):
        try:
            found = check_normalized(text)
        except BadRequest as refused:
            if "if you mean" in refused.message:
                assert answer is not None and f"if you mean {answer}, write that" in refused.message, ascii(text)
            else:
                assert answer is None or any(unicodedata.category(each) == "Cn" for each in text), ascii(text)
            continue
        accepted += 1
        assert found == text == answer, ascii(text)
    assert accepted > 50


@pytest.mark.parametrize("text", ["alice", "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", "", None, "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"])
def test_what_has_no_dot_is_no_name(text: str | None) -> None:
    assert not is_name(text)


def test_a_call_has_ten_names_at_most() -> None:
    fields = [NamedField(("payee",), f"n{number}.eth", "base") for number in range(MOST_NAMES)]
    check_count([*fields, *fields])
    with pytest.raises(BadRequest, match="at most 10 different names"):
        check_count([*fields, NamedField(("payee",), "one.eth", "base")])
