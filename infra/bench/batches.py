"""Batches: CPU to build the transactions of 150 payouts, compared with the npm package, and the gas of batches."""

import json
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from eth_abi import decode

from chalicelib.base.addresses import evm_address
from chalicelib.chains.calldata import checkout
from chalicelib.chains.calldata.checkout import Checkout, Due
from chalicelib.chains.calldata.explanations.calls import explain
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.payable.rules import direct, owed_of
from chalicelib.payments.requests.references import payment_reference
from infra.bench.figures import ROUNDS, Figure
from infra.local.chain import Chain
from infra.local.process import ROOT, StackProblem
from tests.fakes.chain import FEE_ADDRESS
from tests.fakes.payouts import payout
from tests.fakes.world import World
from tests.oracles.node import PAYMENTS

CHILDREN = 150
PAYEES = (1, 20, CHILDREN)
PACKAGE = "@requestnetwork/payment-processor"
_HERE = Path(__file__).parent
_TOKEN = token_with_id("fUSDC-sepolia")
_NETWORK = "sepolia"
_WARM_UP, _CALLS, _PACKAGE_CALLS = 10, 20, 4
_DETAILS = "(address,uint256,address[],bytes,uint256,uint256,uint256)[]"
_KEY = "0x" + "b7" * 32
"""The payer's private key, used on this local chain only."""


def measure() -> list[Figure]:
    return [*_building(), *_gas()]


# --- building ---


def _building() -> Iterator[Figure]:
    """Yields CPU milliseconds for the transactions of one response, after imports and a warm-up.

    Both sides start with stored requests in memory and end with the hex of an approval and a payment. The package also
    computes each payment reference again, which our records hold, and puts the payments into a group, which a batch of
    one token does not need. Payments and fee address have to be the same.
    """
    children, name = _children(CHILDREN), f"transactions of {CHILDREN} children"
    builders: dict[str, Callable[[], object]] = {
        name: lambda: _built(children),
        f"{name}, explained": lambda: explain(_NETWORK, _built(children).transactions),
    }
    built = _built(children)
    with _upstream(children, built) as package_seconds:
        package_seconds(_WARM_UP)
        samples: dict[str, list[float]] = {label: [] for label in (*builders, PACKAGE)}
        for _ in range(ROUNDS):
            for label, build in builders.items():
                samples[label].append(_cpu(build, _CALLS) / _CALLS)
            samples[PACKAGE].append(package_seconds(_PACKAGE_CALLS) / _PACKAGE_CALLS)
    seconds = {label: statistics.median(taken) for label, taken in samples.items()}
    for label in builders:
        goal = "0.1 or less" if label == name else None  # the package explains nothing
        yield Figure(label, seconds[label] * 1e3, "ms", f"npm {PACKAGE}", seconds[PACKAGE] * 1e3, goal)


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
    (owed,) = owed_of([child])
    return direct(owed).due


def _built(children: list[PayableLink]) -> Checkout:
    dues = [direct(owed).due for owed in owed_of(children)]
    return checkout.with_approvals(checkout.pay_together(dues), {})


def _cpu(build: Callable[[], object], count: int) -> float:
    started = time.process_time()
    for _ in range(count):
        build()
    return time.process_time() - started


@contextmanager
def _upstream(children: list[PayableLink], built: Checkout) -> Iterator[Callable[[int], float]]:
    """Yields a function that builds the batch a number of times with the npm package and returns the CPU seconds.

    Raises AssertionError if the package's batch does not make the same payments as `built`.
    """
    (debit,) = built.debits.values()
    node = shutil.which("node") or str(ROOT / ".venv/bin/node")
    command, env = [node, str(_HERE / "upstream_batch.js")], {"NODE_PATH": str(PAYMENTS / "node_modules")}
    with subprocess.Popen(command, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        into, out = process.stdin, process.stdout

        def call(argument: Any) -> Any:
            into.write(json.dumps(argument) + "\n")
            into.flush()
            line = out.readline()
            if not line:
                raise StackProblem(f"npm {PACKAGE} did not build a batch")
            return json.loads(line)

        made = call({"requests": [_upstream_request(child) for child in children], "approval": str(debit)})
        approval, payment = built.transactions
        if (made["to"], made["approval"], _paid(made["data"])) != (payment.to, approval.data, _paid(payment.data)):
            raise AssertionError("the two do not build the same batch, so their times cannot be compared")
        yield call
        into.close()


def _paid(data: str) -> tuple[Any, ...]:
    """Returns payments and fee address of either call that can pay a batch of one token."""
    arguments = bytes.fromhex(data[10:])
    if data[:10] == "0x9af8a581":
        details, _, fee_address = decode([_DETAILS, "address[][]", "address"], arguments)
        return details, fee_address
    ((_, details),), _, fee_address = decode([f"(uint256,{_DETAILS})[]", "address[][]", "address"], arguments)
    return details, fee_address


def _upstream_request(child: PayableLink) -> dict[str, Any]:
    """Returns a child in the form of the package's requests."""
    assert _TOKEN is not None
    (request,), link, due = child.requests, child.link, _due(child)
    values = {
        "paymentAddress": request.payee,
        "salt": request.salt,
        "feeAddress": link.fee_address,
        "feeAmount": str(due.fee),
    }
    extension = {"id": "pn-erc20-fee-proxy-contract", "type": "payment-network", "version": "0.2.0", "values": values}
    return {
        "requestId": request.request_id,
        "expectedAmount": str(request.amount),
        "currencyInfo": {"type": "ERC20", "value": _TOKEN.address, "network": _NETWORK},
        "extensions": {extension["id"]: extension},
        "extensionsData": [],
        "balance": None,
    }


# --- gas ---


def _gas() -> Iterator[Figure]:
    """Yields the gas of payments without approvals, to payees with empty balances (the most expensive case)."""
    from eth_account import Account

    with Chain.start(_NETWORK) as chain:
        chain.fund(Account.from_key(_KEY).address, 10**6)
        _gas_of(chain, _transactions(_children(CHILDREN + 1)[-1:]))  # gives the fee address a balance
        for count in PAYEES:
            before = chain.snapshot()
            children = _children(count)
            together = _gas_of(chain, _transactions(children))
            chain.revert(before)
            one_by_one = sum(_gas_of(chain, _transactions([child], single=True)) for child in children)
            yield Figure(f"a batch of {count}", together, "gas", "paid one by one", one_by_one)


def _transactions(children: list[PayableLink], single: bool = False) -> list[dict[str, Any]]:
    built = _built(children)
    if single:
        (child,) = children
        built = checkout.with_approvals(checkout.pay_one(_due(child)), {})
    return [_plain(each) for each in built.transactions]


def _plain(transaction: Transaction) -> dict[str, Any]:
    return {"to": transaction.to, "data": transaction.data, "value": transaction.value}


def _gas_of(chain: Chain, transactions: list[dict[str, Any]]) -> int:
    """Returns the gas used by the last of the transactions."""
    receipts = [chain.send(transaction, _KEY) for transaction in transactions]
    if any(receipt["status"] != "0x1" for receipt in receipts):
        raise AssertionError("a payment reverted, so its gas cannot be compared")
    return int(receipts[-1]["gasUsed"], 16)
