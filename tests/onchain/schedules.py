"""Schedules of recurring payments on a real chain: a subscriber who signs them, and a relayer who makes their payments."""

import itertools
from dataclasses import replace
from typing import Any

from eth_account import Account

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.base.signatures import digest_of_typed_data
from chalicelib.chains.calldata.recurring import SchedulePermit, digest, trigger
from chalicelib.chains.calldata.reverts import revert_reason
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import RECURRING_PROXY, address_of
from chalicelib.chains.nodes.history.logs import ERC20_TRANSFER_TOPIC
from infra.local.bytecode import DEPLOYER
from infra.local.chain import Chain, RpcError
from tests.onchain.payer import FUSDC

RELAYER = "0x" + "7e" * 20
DAY = 86_400
MONEY = 10**12
_numbers = itertools.count(1)


class Subscriber:
    """Somebody with tokens and an allowance of the proxy, who signs schedules."""

    def __init__(self, chain: Chain, token: str = FUSDC, allowed: int = MONEY) -> None:
        self.chain, self.account = chain, Account.create()
        self.address: str = self.account.address
        self.proxy = address_of(RECURRING_PROXY, chain.network)
        chain.fund_native(self.address, 10**18)
        chain.fund_token(self.address, token, MONEY)
        self.allow(token, allowed)

    def allow(self, token: str, amount: int) -> None:
        self.chain.send({"to": token, "data": call("095ea7b3", self.proxy, amount)}, self.account.key.hex())

    def permit(self, **changes: Any) -> SchedulePermit:
        """A schedule of 3 payments of 1 USDC, one a day, of which the first is due in an hour."""
        first = self.chain_time() + 3600
        permit = SchedulePermit(
            subscriber=self.address,
            token=FUSDC,
            recipient="0x" + "22" * 20,
            fee_address=ZERO_ADDRESS,
            amount=1_000_000,
            fee_amount=0,
            relayer_fee=0,
            period_seconds=DAY,
            first_payment=first,
            total_payments=3,
            nonce=next(_numbers),
            deadline=first + 365 * DAY,
            strict_order=False,
        )
        return replace(permit, **changes)

    def sign(self, permit: SchedulePermit) -> bytes:
        return bytes(self.account.unsafe_sign_hash(digest(permit, self.chain.network)).signature)

    def chain_time(self) -> int:
        return int(self.chain.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)


class Schedule:
    """A signed schedule, whose payments are made by the relayer."""

    def __init__(self, subscriber: Subscriber, permit: SchedulePermit, signature: bytes | None = None) -> None:
        self.subscriber, self.chain, self.permit = subscriber, subscriber.chain, permit
        self.signature = subscriber.sign(permit) if signature is None else signature
        self.digest = digest(permit, self.chain.network)

    def pay(self, index: int, at: int | None = None, sender: str = RELAYER, reference: bytes = b"\1" * 8) -> str | None:
        """Makes a payment in a block of its own, at an exact time in seconds if given; the reason if it is refused."""
        transaction = trigger(self.permit, self.chain.network, self.signature, index, reference)
        return sent(self.chain, transaction, sender, at)

    def payments(self) -> list[dict[str, Any]]:
        """The events of the fee proxy for the recipient of this schedule."""
        logs = self.chain.rpc("eth_getLogs", {"fromBlock": "0x0", "topics": [ERC20_TRANSFER_TOPIC]})
        recipient = self.permit.recipient[2:].lower()
        return [log for log in logs if recipient in log["data"]]


def sent(chain: Chain, transaction: Transaction, sender: str, at: int | None = None) -> str | None:
    """Sends a transaction from any account, and returns why it reverted; None if it did not."""
    if at is not None:
        chain.rpc("evm_setNextBlockTimestamp", at)
    chain.fund_native(sender, 10**20)
    call = {"from": sender, "to": transaction.to, "data": transaction.data}
    receipt = chain.receipt(chain.send_as(sender, call))
    if receipt["status"] == "0x1":
        return None
    try:
        chain.rpc("eth_call", call, receipt["blockNumber"])  # on the same state, as the block changed nothing
    except RpcError as error:
        return revert_reason(bytes.fromhex(str(error.args[0].get("data", "0x"))[2:]))
    raise AssertionError("the call succeeds after a transaction that reverted")


def as_owner(chain: Chain, data: str, sender: str = DEPLOYER) -> str | None:
    """Calls a function of the proxy as its owner, or as somebody else."""
    return sent(chain, Transaction(address_of(RECURRING_PROXY, chain.network), data, 0), sender)


def call(selector: str, *words: str | int) -> str:
    """Calldata of addresses and numbers."""
    texts = (f"{word:064x}" if isinstance(word, int) else word[2:].lower().rjust(64, "0") for word in words)
    return "0x" + selector + "".join(texts)


def digest_elsewhere(permit: SchedulePermit, domain: dict[str, Any], typed: dict[str, Any]) -> bytes:
    """The digest of a permit under a domain that differs."""
    changed = {**typed["domain"], **domain}
    return digest_of_typed_data(
        {"domain": changed, "types": typed["types"], "primaryType": "SchedulePermit", "message": typed["values"]}
    )
