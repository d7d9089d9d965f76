"""Batches: CPU to build the transactions of 150 payouts, compared with the npm package, and the gas of batches."""

from dataclasses import replace
from typing import Any

from eth_abi import decode

from chalicelib.base.addresses import evm_address
from chalicelib.chains.calldata import checkout as checkout_calldata
from chalicelib.chains.calldata.checkout import Checkout, Due
from chalicelib.chains.calldata.explanations.calls import explain
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.payable.rules import amounts_owed, direct
from chalicelib.payments.requests.references import payment_reference
from infra.local.chain import Chain
from tests.bench.conversions import beside_package
from tests.bench.figures import Figure
from tests.chains.calldata.payment_builder import FEE_ADDRESS, Item
from tests.fakes.payouts import payout
from tests.fakes.world import World
from tests.oracles.node import ask_builder

CHILDREN = 150
_GAS = {1: 1.5, 20: 0.65, CHILDREN: 0.6}
"""Numbers of payees, with the goals for their gas."""
_TOKEN = token_with_id("fUSDC-sepolia")
_NETWORK = "sepolia"
_CALLS = 20
_DETAILS = "(address,uint256,address[],bytes,uint256,uint256,uint256)[]"
_KEY = "0x" + "b7" * 32
"""The payer's private key, used on this local chain only."""


# --- building ---


def measure_building() -> list[Figure]:
    """Returns CPU microseconds for the transactions of one response.

    Both sides start with stored requests in memory and end with the hex of an approval and a payment. The package also
    computes each payment reference again, which our records hold, and puts the payments into a group, which a batch of
    one token does not need. Payments and fee address have to be the same.
    """
    children, name = _children(CHILDREN), f"transactions of {CHILDREN} children"
    built = _built(children)
    (debit,) = built.debits.values()
    question = {"ask": "batch", "items": [_item(child).asked() for child in children], "approve": str(debit)}
    (made,) = ask_builder([question])
    approval, payment = built.transactions
    if (made["to"], made["approval"], _paid(made["data"])) != (payment.to, approval.data, _paid(payment.data)):
        raise AssertionError("the two do not build the same batch, so their times cannot be compared")
    explained = f"{name}, explained"  # the package explains nothing
    return [
        beside_package(name, question, lambda: _built(children), _CALLS, 0.1),
        beside_package(explained, question, lambda: explain(_NETWORK, _built(children).transactions), _CALLS, 0.15),
    ]


def _children(count: int) -> list[PayableLink]:
    """Returns payouts of increasing amounts, each to a payee of its own, with a fee of 1 %."""
    services, children = World().services, []
    for number in range(count):
        made = payout(services, "acct", fee_percentage="1", fee_address=FEE_ADDRESS, amount=12_500_000 + number)
        (request,) = made.requests
        payee = evm_address(f"0x{0xA11CE0000 + number:040x}")
        reference = "0x" + payment_reference(request.request_id, request.salt, payee).hex()
        children.append(replace(made, requests=(replace(request, payee=payee, payment_reference=reference),)))
    return children


def _due(child: PayableLink) -> Due:
    (owed,) = amounts_owed([child])
    return direct(owed).due


def _built(children: list[PayableLink]) -> Checkout:
    dues = [direct(owed).due for owed in amounts_owed(children)]
    return checkout_calldata.with_approvals(checkout_calldata.pay_together(dues), {})


def _paid(data: str) -> tuple[Any, ...]:
    """Returns payments and fee address of either call that can pay a batch of one token."""
    arguments = bytes.fromhex(data[10:])
    if data[:10] == "0x9af8a581":
        details, _, fee_address = decode([_DETAILS, "address[][]", "address"], arguments)
        return details, fee_address
    ((_, details),), _, fee_address = decode([f"(uint256,{_DETAILS})[]", "address[][]", "address"], arguments)
    return details, fee_address


def _item(child: PayableLink) -> Item:
    """Returns a child in the form of the package's requests."""
    assert _TOKEN is not None
    (request,), fee = child.requests, _due(child).fee
    return Item(None, _TOKEN, request.payee, request.amount, fee, 0, 0, request.request_id, request.salt)


# --- gas ---


def measure_gas() -> list[Figure]:
    """Returns the gas of payments without approvals, to payees with empty balances (the most expensive case)."""
    from eth_account import Account

    figures = []
    with Chain.start(_NETWORK) as chain:
        chain.fund(Account.from_key(_KEY).address, 10**6)
        _gas_of(chain, _transactions(_children(CHILDREN + 1)[-1:]))  # gives the fee address a balance
        for count in _GAS:
            before = chain.snapshot()
            children = _children(count)
            together = _gas_of(chain, _transactions(children))
            chain.revert(before)
            one_by_one = sum(_gas_of(chain, _transactions([child], single=True)) for child in children)
            figures.append(Figure(f"a batch of {count}", together, "gas", "paid one by one", one_by_one, _GAS[count]))
    return figures


def _transactions(children: list[PayableLink], single: bool = False) -> list[dict[str, Any]]:
    built = _built(children)
    if single:
        (child,) = children
        built = checkout_calldata.with_approvals(checkout_calldata.pay_one(_due(child)), {})
    return [_plain(each) for each in built.transactions]


def _plain(transaction: Transaction) -> dict[str, Any]:
    return {"to": transaction.to, "data": transaction.data, "value": transaction.value}


def _gas_of(chain: Chain, transactions: list[dict[str, Any]]) -> int:
    """Returns the gas used by the last of the transactions."""
    receipts = [chain.send(transaction, _KEY) for transaction in transactions]
    if any(receipt["status"] != "0x1" for receipt in receipts):
        raise AssertionError("a payment reverted, so its gas cannot be compared")
    return int(receipts[-1]["gasUsed"], 16)
