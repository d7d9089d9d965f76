"""Approvals and reads of ERC-20 tokens against an independent ABI encoder."""

from eth_abi import encode
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.money import MAX_UINT256
from chalicelib.chains.calldata.tokens.erc20 import allowance, approve, balance_of, transfer_from

TOKEN = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"

addresses = st.binary(min_size=20, max_size=20).map(lambda raw: "0x" + raw.hex())


@given(spender=addresses, amount=st.integers(0, MAX_UINT256))
def test_an_approval_equals_the_encoding_of_an_abi_library(spender: str, amount: int) -> None:
    built = approve(TOKEN, spender, amount)
    assert built.data == "0x095ea7b3" + encode(["address", "uint256"], [spender, amount]).hex()
    assert (built.to, built.value) == (TOKEN, 0)


@given(owner=addresses, recipient=addresses, amount=st.integers(0, MAX_UINT256))
def test_a_transfer_equals_the_encoding_of_an_abi_library(owner: str, recipient: str, amount: int) -> None:
    built = transfer_from(TOKEN.lower(), owner, recipient, amount)
    encoded = encode(["address", "address", "uint256"], [owner, recipient, amount]).hex()
    assert (built.to, built.data, built.value) == (TOKEN, "0x23b872dd" + encoded, 0)


@given(owner=addresses, spender=addresses)
def test_reads_equal_the_encoding_of_an_abi_library(owner: str, spender: str) -> None:
    assert balance_of(TOKEN, owner).data == "0x70a08231" + encode(["address"], [owner]).hex()
    both = encode(["address", "address"], [owner, spender]).hex()
    assert allowance(TOKEN, owner, spender).data == "0xdd62ed3e" + both


def test_an_approval_goes_to_the_token_in_its_checksummed_spelling() -> None:
    assert approve(TOKEN.lower(), TOKEN, 1).to == TOKEN
