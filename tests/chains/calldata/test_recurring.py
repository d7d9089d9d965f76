"""Permits and calls of ERC20RecurringPaymentProxy against eth_account and eth_abi."""

from dataclasses import astuple, replace
from typing import Any

import pytest
from eth_abi import encode
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_utils import keccak
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.addresses import ZERO_ADDRESS, evm_address
from chalicelib.base.keccak import keccak256
from chalicelib.base.signatures import recover_digest
from chalicelib.chains.calldata.recurring import PERMIT_MEMBERS, SchedulePermit, digest, trigger, typed_data
from chalicelib.chains.catalogue.contracts import RECURRING_PROXY, address_of

from .calls import PAYEE, PERMIT, REFERENCE, SIGNATURE, USDC, WALLET

NETWORKS = ("mainnet", "arbitrum-one", "base", "matic", "bsc", "sepolia")
addresses = st.binary(min_size=20, max_size=20).map(lambda raw: evm_address("0x" + raw.hex()))
permits = st.builds(
    SchedulePermit,
    *(addresses,) * 4,
    *(st.integers(0, 2**128 - 1),) * 3,
    *(st.integers(0, 2**32 - 1),) * 2,
    st.integers(0, 255),
    *(st.integers(0, 2**256 - 1),) * 2,
    st.booleans(),
)


@given(permits, st.sampled_from(NETWORKS))
def test_the_digest_is_what_eth_account_signs(permit: SchedulePermit, network: str) -> None:
    typed = typed_data(permit, network)
    message = {name: value for (name, _), value in zip(PERMIT_MEMBERS, astuple(permit), strict=True)}
    encoded = encode_typed_data(typed["domain"], typed["types"], message)
    assert digest(permit, network) == keccak256(b"\x19\x01" + encoded.header + encoded.body)


def test_a_wallet_gets_the_domain_the_types_and_the_values_that_ethers_signs() -> None:
    assert typed_data(PERMIT, "base") == {
        "domain": {
            "name": "ERC20RecurringPaymentProxy",
            "version": "1",
            "chainId": 8453,
            "verifyingContract": "0xd2c3392e3e70F4CE033Cb39CC80B414aDdD64fFa",
        },
        "types": {"SchedulePermit": [{"name": name, "type": kind} for name, kind in PERMIT_MEMBERS]},
        "values": {
            "subscriber": WALLET,
            "token": USDC,
            "recipient": PAYEE,
            "feeAddress": ZERO_ADDRESS,
            "amount": "12500000",
            "feeAmount": "0",
            "relayerFee": "0",
            "periodSeconds": 86_400,
            "firstPayment": 1_800_000_000,
            "totalPayments": 12,
            "nonce": str(2**255 + 1),
            "deadline": "1900000000",
            "strictOrder": False,
        },
    }


def test_a_signature_of_what_the_wallet_gets_recovers_to_the_subscriber_on_its_chain_alone() -> None:
    wallet = Account.from_key("0x" + "ab" * 32)
    permit = replace(PERMIT, subscriber=wallet.address)
    typed = typed_data(permit, "base")
    values: dict[str, Any] = {name: int(v) if isinstance(v, str) and v.isdecimal() else v for name, v in typed["values"].items()}
    signature = bytes(wallet.sign_typed_data(typed["domain"], typed["types"], values).signature)
    assert recover_digest(digest(permit, "base"), signature) == wallet.address
    assert recover_digest(digest(permit, "sepolia"), signature) != wallet.address


@given(permits, st.integers(0, 255), st.binary(min_size=8, max_size=8))
def test_the_call_is_encoded_as_eth_abi_does(permit: SchedulePermit, index: int, reference: bytes) -> None:
    kinds = f"({','.join(kind for _, kind in PERMIT_MEMBERS)})", "bytes", "uint8", "bytes"
    signature = f"triggerRecurringPayment({','.join(kinds)})"
    encoded = keccak(text=signature)[:4] + encode(kinds, [astuple(permit), SIGNATURE, index, reference])
    built = trigger(permit, "matic", SIGNATURE, index, reference)
    assert (built.to, built.data, built.value) == (address_of(RECURRING_PROXY, "matic"), "0x" + encoded.hex(), 0)


@pytest.mark.parametrize("network", ["optimism", "tron"])
def test_networks_without_the_contract_have_no_permits(network: str) -> None:
    for build in (typed_data, digest):
        with pytest.raises(LookupError, match=f"ERC20RecurringPaymentProxy is not deployed on {network}"):
            build(PERMIT, network)
    with pytest.raises(LookupError):
        trigger(PERMIT, network, SIGNATURE, 1, REFERENCE)


@pytest.mark.parametrize(
    "wrong",
    [
        {"amount": 2**128},
        {"fee_amount": -1},
        {"period_seconds": 2**32},
        {"first_payment": 2**32},
        {"total_payments": 256},
        {"nonce": 2**256},
    ],
    ids=str,
)
def test_a_number_that_its_type_cannot_hold_is_neither_signed_nor_sent(wrong: dict[str, int]) -> None:
    permit = replace(PERMIT, **wrong)
    with pytest.raises(OverflowError):
        digest(permit, "base")
    with pytest.raises(OverflowError):
        trigger(permit, "base", SIGNATURE, 1, REFERENCE)


def test_a_payment_beyond_the_255th_cannot_be_asked_for() -> None:
    with pytest.raises(OverflowError):
        trigger(PERMIT, "base", SIGNATURE, 256, REFERENCE)


def test_signature_and_reference_have_their_length() -> None:
    with pytest.raises(ValueError, match="65 bytes"):
        trigger(PERMIT, "base", SIGNATURE + b"\0", 1, REFERENCE)
    with pytest.raises(ValueError, match="8 bytes"):
        trigger(PERMIT, "base", SIGNATURE, 1, REFERENCE + b"\0")


def test_one_payment_takes_amount_fee_and_relayer_fee() -> None:
    assert replace(PERMIT, amount=5, fee_amount=7, relayer_fee=11).payment_total == 23
