"""A call of every kind that this package writes, and what an explanation says of it."""

import pytest

from chalicelib.calldata.batch import BatchItem, pay_batch, pay_tron_batch
from chalicelib.calldata.decode import SELECTOR, read
from chalicelib.calldata.erc20 import approve, transfer_from
from chalicelib.calldata.explain import explain
from chalicelib.calldata.explanation import ExpectedEvent, Explanation
from chalicelib.calldata.fee_proxy import pay_erc20, pay_native
from chalicelib.calldata.safe import bundle, unpack_transactions
from chalicelib.calldata.transaction import Transaction
from chalicelib.catalogue.contracts import address_of

USDC, DAI = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb"
UNLISTED = "0x00000000000000000000000000000000000A11cE"
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
    return BatchItem(event.token, event.payee, event.amount, reference, event.fee_amount)
