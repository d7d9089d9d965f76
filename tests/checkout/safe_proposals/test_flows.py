"""What an owner of a Safe signs, with which nonce it is proposed, and what is refused in words."""

import json
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from eth_account import Account

from chalicelib.base.errors import BadRequest, Conflict, Forbidden, TooManyRequests
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets.safe import SafeTerms, SafeTransaction, bundle
from chalicelib.chains.nodes.safes.records import Proposal
from chalicelib.chains.nodes.safes.service import SafeServiceUnavailable
from chalicelib.checkout.safe_proposals import flows
from chalicelib.checkout.safe_proposals.flows import Asked, Made
from chalicelib.checkout.safe_proposals.schemas import SafeProposalAnswer
from chalicelib.platform.access.rate_limits.rules import SAFE_REQUESTS_OF_ACCOUNT, SAFE_REQUESTS_PER_MINUTE
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import World

OWNER, OTHER = evm_wallet("owner"), evm_wallet("other owner")
FUSDC = "0x370DE27fdb7D1Ff1e1BaA7D11c5820a324Cf623C"
SAFE = "0x9641d764fc13c8B624c04430C7356C1C7C8102e2"
APPROVE = Transaction(FUSDC, "0x095ea7b3" + "11" * 64, 0)
PAY = Transaction(FUSDC, "0xc219a14d" + "22" * 64, 0)
ASKED = Asked("sepolia", SAFE, OWNER.address, (APPROVE, PAY), None, None)


@pytest.fixture
def safes(world: World) -> World:
    world.safes.safes["sepolia", SAFE] = ((OTHER.address, OWNER.address), 7)
    return world


def propose(world: World, **changed: Any) -> Made:
    return flows.propose(world.services, "acct", replace(ASKED, **changed))


def signature_of(made: Made, wallet: Any = OWNER) -> str:
    typed: str = wallet.sign_typed(json.loads(SafeProposalAnswer.of(made).typedData))
    return typed


def test_an_owner_signs_one_transaction_that_makes_all_calls_with_the_next_nonce(safes: World) -> None:
    made = propose(safes)
    assert (made.proposal.transaction, made.proposal.terms) == (bundle("sepolia", (APPROVE, PAY)), SafeTerms(7))
    assert not made.is_proposed and safes.safes.known == {}
    typed = json.loads(SafeProposalAnswer.of(made).typedData)
    full = {"domain": typed["domain"], "primaryType": "SafeTx", "message": typed["values"], "types": {
        **typed["types"], "EIP712Domain": [{"name": "chainId", "type": "uint256"}, {"name": "verifyingContract", "type": "address"}],
    }}  # fmt: skip
    signed = Account.sign_typed_data(OWNER.key, full_message={**full, "message": numbers(full)})
    assert "0x" + bytes(signed.message_hash).hex() == made.safe_tx_hash, "by another library"
    assert typed["domain"] == {"chainId": 11_155_111, "verifyingContract": SAFE}


def test_an_account_has_a_number_of_calls_a_minute_as_all_share_the_service(safes: World) -> None:
    for _ in range(SAFE_REQUESTS_OF_ACCOUNT // 3):
        propose(safes)
    with pytest.raises(TooManyRequests):
        propose(safes)
    assert flows.propose(safes.services, "other account", ASKED)
    safes.now += timedelta(minutes=1)
    assert propose(safes)


def test_accounts_that_ask_as_much_as_they_can_leave_each_other_one_a_call(safes: World) -> None:
    made = 0
    for number in range(9):
        with suppress(TooManyRequests):
            while flows.propose(safes.services, f"greedy{number}", ASKED):
                made += 1
    assert made * 3 <= SAFE_REQUESTS_PER_MINUTE + 9 * 3
    assert flows.propose(safes.services, "modest", ASKED)
    with pytest.raises(TooManyRequests):
        flows.propose(safes.services, "modest", ASKED)


def numbers(full: Any) -> dict[str, Any]:
    uints = {each["name"] for each in full["types"]["SafeTx"] if each["type"].startswith("uint")}
    return {name: int(value) if name in uints else value for name, value in full["message"].items()}


def test_one_call_is_made_by_the_safe_itself(safes: World) -> None:
    made = propose(safes, transactions=(PAY,))
    assert made.proposal.transaction == SafeTransaction(FUSDC, 0, PAY.data, 0)


def test_what_was_signed_is_proposed_once_however_often(safes: World) -> None:
    made = propose(safes)
    signed = {"nonce": 7, "signature": signature_of(made)}
    for _ in range(2):
        again = propose(safes, **signed)
        assert (again.safe_tx_hash, again.is_proposed) == (made.safe_tx_hash, True)
    assert safes.safes.known == {("sepolia", made.safe_tx_hash): made.proposal}
    assert safes.safes.signatures[made.safe_tx_hash] == {OWNER.address: bytes.fromhex(signed["signature"][2:])}
    with pytest.raises(Conflict, match="proposed to the Safe already, with nonce 7"):
        propose(safes)
    with pytest.raises(Conflict, match="with nonce 7"):
        propose(safes, owner=OTHER.address, nonce=8, signature=signed["signature"])
    other = propose(safes, transactions=(PAY,))
    assert other.proposal.terms.nonce == 8, "it waits after the first one"


def test_a_signature_with_0_or_1_as_v_is_given_as_the_safe_reads_it(safes: World) -> None:
    made = propose(safes)
    signed = bytes.fromhex(signature_of(made)[2:])
    propose(safes, nonce=7, signature=(signed[:64] + bytes([signed[64] - 27])).hex())
    assert safes.safes.signatures[made.safe_tx_hash] == {OWNER.address: signed}


def test_who_is_no_owner_and_what_is_no_signature_of_it_is_refused(safes: World) -> None:
    stranger = evm_wallet("stranger")
    with pytest.raises(Forbidden, match=f"{stranger.address} is not an owner of the Safe: its owners are {OTHER.address}, "):
        propose(safes, owner=stranger.address)
    made = propose(safes)
    for wrong in (signature_of(made, OTHER), "00" * 65):
        with pytest.raises(BadRequest, match=f"signature: is not that of {OWNER.address}"):
            propose(safes, nonce=7, signature=wrong)
    with pytest.raises(BadRequest, match="is not that of"):
        propose(safes, nonce=8, signature=signature_of(made))
    with pytest.raises(BadRequest, match="is not that of"):
        propose(safes, transactions=(APPROVE,), nonce=7, signature=signature_of(made))
    assert safes.safes.known == {}


def test_a_nonce_that_was_used_meanwhile_is_signed_anew(safes: World) -> None:
    signed = signature_of(propose(safes))
    safes.safes.safes["sepolia", SAFE] = ((OWNER.address,), 8)
    with pytest.raises(Conflict, match="another transaction with this nonce meanwhile: sign it anew"):
        propose(safes, nonce=7, signature=signed)


def test_networks_and_addresses_without_a_safe_are_refused(safes: World) -> None:
    for changed, says in (
        ({"network": "mars"}, "network: is not supported"), ({"network": "tron"}, "network: tron has no contract by which"),
        ({"safe": FUSDC}, f"safe: there is no Safe at {FUSDC} on sepolia"),
    ):  # fmt: skip
        with pytest.raises(BadRequest, match=says):
            propose(safes, **changed)
    safes.safes.is_there = False
    with pytest.raises(BadRequest, match="network: this deployment has no Safe Transaction Service of sepolia"):
        propose(safes)


def test_a_service_that_is_away_is_said(safes: World) -> None:
    safes.safes.is_down = True
    with pytest.raises(SafeServiceUnavailable, match="does not answer"):
        propose(safes)


def test_what_others_have_queued_comes_first(safes: World) -> None:
    queued = Proposal(SAFE, SafeTransaction(FUSDC, 5, "0x", 0), SafeTerms(12))
    safes.safes.known["sepolia", "0x" + "ab" * 32] = queued
    assert propose(safes).proposal.terms.nonce == 13
