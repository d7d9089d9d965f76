"""A call of every kind that this package writes, and what an explanation says of it."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.chains.calldata.batch import BatchItem, pay_batch, pay_tron_batch
from chalicelib.chains.calldata.conversions.proxy import (
    Conversion,
    ConvertedPayment,
    pay_erc20_converted,
    pay_native_converted,
)
from chalicelib.chains.calldata.escrow import calls as escrow_calls
from chalicelib.chains.calldata.escrow.calls import CaptureFee, Collection
from chalicelib.chains.calldata.escrow.payment_info import PaymentInfo
from chalicelib.chains.calldata.explanations.calls import explain
from chalicelib.chains.calldata.explanations.decode import SELECTOR, Kind, read
from chalicelib.chains.calldata.explanations.parts import ExpectedEvent, Explanation
from chalicelib.chains.calldata.fee_proxy import pay_erc20, pay_native
from chalicelib.chains.calldata.recurring import SchedulePermit, trigger
from chalicelib.chains.calldata.tokens.erc20 import approve, transfer_from
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets.safe import bundle, unpack_transactions
from chalicelib.chains.catalogue.contracts import address_of
from chalicelib.chains.catalogue.escrows import EscrowContracts, escrow_contracts

USDC, DAI = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb"
UNKNOWN_TOKEN = "0x00000000000000000000000000000000000A11cE"
USDT_TRON = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
PAYEE = "0xf17f52151EbEF6C7334FAD080c5704D77216b732"
TRON_PAYEE, TRON_COLLECTOR = "TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7", "TG3XXyExBkPp9nzdajDZsozEu4BkaSJozs"
WALLET = "0x627306090abaB3A6e1400e9345bC60c78a8BEf57"
COLLECTOR = "0xC5fdf4076b8F3A5357c5E395ab970B5B54098Fef"
REFERENCE = bytes.fromhex("11497d24d1a76c9b")
PROXY, NATIVE_PROXY = address_of("ERC20FeeProxy", "base"), address_of("EthereumFeeProxy", "base")
BATCH = address_of("BatchConversionPayments", "base")

ITEMS = [
    BatchItem(USDC, PAYEE, 12_500_000, REFERENCE, 125_000),
    BatchItem(None, WALLET, 3 * 10**17, b"\x01" * 8, 10**15),
    BatchItem(DAI, PAYEE, 10**18, b"\x02" * 8, 10**16),
]
TRON_ITEMS = [
    BatchItem(USDT_TRON, TRON_PAYEE, 5_000_000, REFERENCE, 50_000),
    BatchItem(USDT_TRON, TRON_COLLECTOR, 7, b"\x03" * 8, 1),
]


USDC_MAINNET, USDT_MAINNET = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "0xdAC17F958D2ee523a2206206994597C13D831ec7"
USD, EUR = "0x775eb53d00dd0acd3ec1696472105d579b9b386b", "0x17b4158805772ced11225e77339f90beb5aae968"
ETH = "0xf5af88e117747e87fc5929f2ff87221b1447652e"
TO_USDC = Conversion((EUR, USD, USDC_MAINNET), 14_000_000, 3600)
TO_ETH = Conversion((USD, ETH), 6 * 10**15, 600)
CONVERTED = ConvertedPayment(PAYEE, 1_250_000_000, REFERENCE, TO_USDC, 13_000_000, COLLECTOR)
CONVERTED_ITEMS = [
    BatchItem(USDC_MAINNET, PAYEE, 1_250_000_000, REFERENCE, 13_000_000, TO_USDC),
    BatchItem(USDT_MAINNET, WALLET, 7_000_000, b"\x01" * 8, 70_000),
    BatchItem(None, PAYEE, 10**15, b"\x02" * 8, 10**13),
    BatchItem(None, WALLET, 1_250_000_000, b"\x03" * 8, 13_000_000, TO_ETH),
]

PERMIT = SchedulePermit(
    subscriber=WALLET,
    token=USDC,
    recipient=PAYEE,
    fee_address=ZERO_ADDRESS,
    amount=12_500_000,
    fee_amount=0,
    relayer_fee=0,
    period_seconds=86_400,
    first_payment=1_800_000_000,
    total_payments=12,
    nonce=2**255 + 1,
    deadline=1_900_000_000,
    strict_order=False,
)
SIGNATURE = bytes(range(1, 65)) + b"\x1b"

OPERATOR = "0x0F4F2Ac550A1b4e2280d04c21cEa7EBD822934b5"
INFO = PaymentInfo(
    operator=OPERATOR,
    payer=WALLET,
    receiver=PAYEE,
    token=USDC,
    max_amount=1_000_000,
    pre_approval_expiry=1_800_000_000,
    authorization_expiry=1_800_086_400,
    refund_expiry=1_800_864_000,
    min_fee_bps=0,
    max_fee_bps=250,
    fee_receiver=COLLECTOR,
    salt=2**255 + 1,
)
FEE = CaptureFee(250, COLLECTOR)


def escrow_of(network: str) -> EscrowContracts:
    found = escrow_contracts(network, {})
    assert found is not None
    return found


ESCROW = escrow_of("base")
PRE_APPROVED, SIGNED = Collection(ESCROW.pre_approval), Collection(ESCROW.erc3009, SIGNATURE)


def payment(fee: int = 125_000) -> Transaction:
    return pay_erc20(
        "base",
        token=USDC,
        payee=PAYEE,
        amount=12_500_000,
        reference=REFERENCE,
        fee_amount=fee,
        fee_address=COLLECTOR,
    )


def native_payment() -> Transaction:
    return pay_native("base", payee=PAYEE, amount=10**18, reference=REFERENCE, fee_amount=10**16, fee_address=COLLECTOR)


def recurring_payment(**changes: Any) -> Transaction:
    permit = replace(PERMIT, **changes)
    return trigger(permit, "base", SIGNATURE, 2, REFERENCE)


def bundled(*transactions: Transaction) -> Transaction:
    built = bundle("base", transactions)
    return Transaction(built.to, built.data, built.value)


def unbundled(data: str) -> tuple[Transaction, ...]:
    """The transactions of a bundle, from its 0x hex, as `explain` reads them."""
    (packed,) = read(("bytes",), bytes.fromhex(data[2:])[SELECTOR:])
    return unpack_transactions(packed)


EVERY_KIND = {
    "approve": ("base", approve(USDC, PROXY, 12_625_000)),
    "transferFrom": ("base", transfer_from(USDC, WALLET, PAYEE, 5)),
    "pay": ("base", payment()),
    "pay native": ("base", native_payment()),
    "batch of one token": ("base", pay_batch("base", [ITEMS[0], ITEMS[0]], COLLECTOR)),
    "batch of many": ("base", pay_batch("base", ITEMS, COLLECTOR)),
    "batch of the coin": ("base", pay_batch("base", [ITEMS[1]], COLLECTOR, 30)),
    "batch on tron": ("tron", pay_tron_batch("tron", TRON_ITEMS, TRON_COLLECTOR)),
    "pay converted": ("mainnet", pay_erc20_converted("mainnet", CONVERTED)),
    "pay native converted": ("mainnet", pay_native_converted("mainnet", replace(CONVERTED, conversion=TO_ETH))),
    "batch with conversions": ("mainnet", pay_batch("mainnet", CONVERTED_ITEMS, COLLECTOR)),
    "recurring payment": ("base", recurring_payment()),
    "approve a collector": ("base", escrow_calls.pre_approve(INFO, ESCROW)[0]),
    "pre-approve": ("base", escrow_calls.pre_approve(INFO, ESCROW)[1]),
    "authorize": ("base", escrow_calls.authorize(INFO, ESCROW, 1_000_000, PRE_APPROVED)),
    "authorize by a signature": ("base", escrow_calls.authorize(INFO, ESCROW, 700_000, SIGNED)),
    "charge": ("base", escrow_calls.charge(INFO, ESCROW, 700_000, SIGNED, FEE)),
    "capture": ("base", escrow_calls.capture(INFO, ESCROW, 600_000, FEE)),
    "void": ("base", escrow_calls.void(INFO, ESCROW)),
    "reclaim": ("base", escrow_calls.reclaim(INFO, ESCROW)),
    "refund": ("base", escrow_calls.refund(INFO, ESCROW, 100_000)),
    "bundle": ("base", bundled(approve(USDC, PROXY, 12_625_000), payment(), native_payment())),
}
every_kind = pytest.mark.parametrize(("network", "transaction"), EVERY_KIND.values(), ids=list(EVERY_KIND))


def one(network: str, transaction: Transaction) -> Explanation:
    (explanation,) = explain(network, [transaction])
    return explanation


def event_of(explanation: Explanation) -> ExpectedEvent:
    assert explanation.expected_event is not None
    return explanation.expected_event


def item_of(event: ExpectedEvent) -> BatchItem:
    reference = bytes.fromhex(event.payment_reference[2:])
    return BatchItem(event.token, event.payee, event.amount, reference, event.fee_amount, event.conversion)


def with_structs(parameters: Sequence[tuple[str, Kind]]) -> list[tuple[str, Kind]]:
    """Parameters as ABIs have them: `p.a` and `p.b` are the members of one parameter p, a struct."""
    found = list[tuple[str, Kind]]()
    for struct, each in groupby(parameters, key=lambda parameter: parameter[0].partition(".")[0]):
        members = list(each)
        is_struct = "." in members[0][0]
        found.append((struct, tuple(kind for _, kind in members) if is_struct else members[0][1]))
    return found


def unquoted(value: Any) -> Any:
    """The values of typed data as eth_account takes them: numbers instead of decimal text, also inside of structs."""
    if isinstance(value, dict):
        return {name: unquoted(each) for name, each in value.items()}
    return int(value) if isinstance(value, str) and value.isdecimal() else value
