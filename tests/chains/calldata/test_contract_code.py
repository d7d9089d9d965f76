"""Which contracts may send on tokens that they are sent, by their code."""

import pytest

from chalicelib.chains.calldata.contract_code import may_send_tokens

OWN_FUNCTION, CALL, CALL_BY_WORD = "8063a9059cbb1461004057", "63a9059cbb60e01b", f"7fa9059cbb{'00' * 28}"
METADATA = "a264697066735822" + "f4" * 43 + "0033"


@pytest.mark.parametrize(
    "code",
    [
        "",
        "ef0100" + "12" * 20,
        CALL,
        CALL_BY_WORD,
        "6323b872dd6104005263",
        "600035f4",
        "8063b61d27f614",
        "80631626ba7e14",
        CALL + METADATA,
    ],
    ids=["a key", "a delegate", "shifted", "a word", "Vyper", "a proxy", "an account", "ERC-1271", "before metadata"],
)
def test_what_calls_tokens_or_runs_what_it_is_given_may_send(code: str) -> None:
    assert may_send_tokens(bytes.fromhex(code))


@pytest.mark.parametrize(
    "code",
    [
        "fe",
        OWN_FUNCTION,
        "63a9059cbb",
        "62a9059cbb60",
        "61f4f400",
        "7fa9059cbb" + "01" * 28,
        OWN_FUNCTION + METADATA,
        "00",
        "600160005500",
    ],
    ids=[
        "nothing",
        "its own function",
        "at the end",
        "another push",
        "pushed bytes",
        "another word",
        "in metadata",
        "stop",
        "a counter",
    ],
)
def test_what_has_no_such_code_may_not(code: str) -> None:
    assert not may_send_tokens(bytes.fromhex(code))
