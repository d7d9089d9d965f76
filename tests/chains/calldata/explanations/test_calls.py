"""What is explained is exactly what was built, whatever else is unknown, and nothing raises."""

from dataclasses import replace
from typing import Any

import pytest
from eth_abi import encode
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.addresses import DEAD_ADDRESS, ZERO_ADDRESS, evm_address, tron_address_of, tron_to_evm
from chalicelib.base.money import MAX_UINT256
from chalicelib.chains.calldata.batch import BatchItem, native_hash, pay_batch, pay_tron_batch
from chalicelib.chains.calldata.conversions.proxy import ConvertedPayment, pay_erc20_converted, pay_native_converted
from chalicelib.chains.calldata.escrow import calls as escrow_calls
from chalicelib.chains.calldata.escrow.calls import CaptureFee, Collection
from chalicelib.chains.calldata.escrow.payment_info import MEMBERS, PaymentInfo
from chalicelib.chains.calldata.explanations.calls import explain, explain_data
from chalicelib.chains.calldata.explanations.functions import FUNCTIONS
from chalicelib.chains.calldata.explanations.parts import ExpectedEvent, Explanation
from chalicelib.chains.calldata.fee_proxy import pay_erc20, pay_native
from chalicelib.chains.calldata.recurring import PERMIT_MEMBERS, SchedulePermit, trigger
from chalicelib.chains.calldata.tokens.erc20 import approve, transfer_from
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets.safe import bundle
from chalicelib.chains.catalogue.contracts import address_of
from tests.chains.calldata.calls import (
    BATCH,
    COLLECTOR,
    DAI,
    ESCROW,
    EVERY_KIND,
    ITEMS,
    NATIVE_PROXY,
    PAYEE,
    PROXY,
    REFERENCE,
    TRON_COLLECTOR,
    TRON_ITEMS,
    TRON_PAYEE,
    UNKNOWN_TOKEN,
    USDC,
    USDT_TRON,
    WALLET,
    bundled,
    event_of,
    every_kind,
    item_of,
    native_payment,
    one,
    payment,
    recurring_payment,
    unbundled,
)
from tests.support.rehearsed import parts

addresses = st.binary(min_size=20, max_size=20).filter(any).map(lambda raw: evm_address("0x" + raw.hex()))
amounts = st.integers(0, 2**250)
references = st.binary(min_size=8, max_size=8)
batch_items = st.builds(
    BatchItem, st.sampled_from([None, USDC, DAI, UNKNOWN_TOKEN]), addresses, amounts, references, amounts
)


def built_again(network: str, explanation: Explanation, transaction: Transaction) -> str:
    """The data that our own functions write from what the explanation says."""
    values = {each.name: each.value for each in explanation.arguments}
    if explanation.function == "approve":
        return approve(transaction.to, values["spender"], int(values["amount"])).data
    if explanation.function == "transferFrom":
        return transfer_from(transaction.to, values["from"], values["to"], int(values["amount"])).data
    if explanation.function == "triggerRecurringPayment":
        members = [values[f"p.{name}"] for name, _ in PERMIT_MEMBERS]
        permit = SchedulePermit(
            *(text if kind == "address" else int(text) for text, (_, kind) in zip(members, PERMIT_MEMBERS, strict=True))
        )
        permit = replace(permit, strict_order=bool(permit.strict_order))
        signature, reference = (bytes.fromhex(values[name][2:]) for name in ("signature", "paymentReference"))
        return trigger(permit, network, signature, int(values["index"]), reference).data
    if explanation.function in ESCROW_CALLS:
        return escrow_built_again(explanation).data
    if explanation.function == "multiSend":
        return bundle(network, unbundled(transaction.data)).data
    if not explanation.calls:
        event = event_of(explanation)
        paid: dict[str, Any] = {
            "payee": event.payee,
            "amount": event.amount,
            "reference": bytes.fromhex(event.payment_reference[2:]),
            "fee_amount": event.fee_amount,
            "fee_address": event.fee_address,
        }
        if event.conversion is not None:
            pay = pay_native_converted if event.token is None else pay_erc20_converted
            return pay(network, ConvertedPayment(**paid, conversion=event.conversion)).data
        if event.token is None:
            return pay_native(network, **paid).data
        return pay_erc20(network, token=event.token, **paid).data
    items = [item_of(event_of(call)) for call in explanation.calls]
    collector = event_of(explanation.calls[0]).fee_address
    if network == "tron":
        return pay_tron_batch(network, items, collector).data
    return pay_batch(network, items, collector).data


ESCROW_CALLS = ("preApprove", "authorize", "charge", "capture", "void", "reclaim", "refund")


def escrow_built_again(explanation: Explanation) -> Transaction:
    values = {each.name: each.value for each in explanation.arguments}
    members = (
        values[f"paymentInfo.{name}"] if kind == "address" else int(values[f"paymentInfo.{name}"])
        for name, kind in MEMBERS
    )
    info, fee = PaymentInfo(*members), CaptureFee(int(values.get("feeBps", 0)), values.get("feeReceiver", ""))  # type: ignore[arg-type]
    taken_by = Collection(values.get("tokenCollector", ""), bytes.fromhex(values.get("collectorData", "0x")[2:]))
    amount = int(values.get("amount", 0))
    match explanation.function:
        case "preApprove":
            return escrow_calls.pre_approve(info, ESCROW)[1]
        case "authorize":
            return escrow_calls.authorize(info, ESCROW, amount, taken_by)
        case "charge":
            return escrow_calls.charge(info, ESCROW, amount, taken_by, fee)
        case "capture":
            return escrow_calls.capture(info, ESCROW, amount, fee)
        case "void":
            return escrow_calls.void(info, ESCROW)
        case "reclaim":
            return escrow_calls.reclaim(info, ESCROW)
    return escrow_calls.refund(info, ESCROW, amount)


# --- what is built is explained ---


def test_a_payment_is_told_in_one_sentence() -> None:
    shown = one("base", payment())
    assert shown.summary == (
        f"Pay 12.5 USDC to {PAYEE} with 0.125 USDC fee to {COLLECTOR}, reference 0x11497d24d1a76c9b"
    )
    assert (shown.to, shown.contract, shown.function) == (PROXY, "ERC20FeeProxy", "transferFromWithReferenceAndFee")
    assert [(each.name, each.value, each.human) for each in shown.arguments] == [
        ("_tokenAddress", USDC, "USDC"),
        ("_to", PAYEE, None),
        ("_amount", "12500000", "12.5 USDC"),
        ("_paymentReference", "0x11497d24d1a76c9b", None),
        ("_feeAmount", "125000", "0.125 USDC"),
        ("_feeAddress", COLLECTOR, None),
    ]
    assert shown.expected_event == ExpectedEvent(
        name="TransferWithReferenceAndFee",
        contract="ERC20FeeProxy",
        address=PROXY,
        token=USDC,
        payee=PAYEE,
        amount=12_500_000,
        fee_amount=125_000,
        fee_address=COLLECTOR,
        payment_reference="0x11497d24d1a76c9b",
    )


def test_a_native_payment_counts_the_fee_out_of_the_value() -> None:
    shown = one("base", native_payment())
    assert shown.summary.startswith(f"Pay 1 ETH-base to {PAYEE} with 0.01 ETH-base fee to {COLLECTOR}, reference ")
    assert (shown.value, shown.value_human) == (101 * 10**16, "1.01 ETH-base")
    assert (event_of(shown).token, event_of(shown).address) == (None, NATIVE_PROXY)
    assert [each.human for each in shown.arguments] == [None, None, "0.01 ETH-base", None]
    short = Transaction(NATIVE_PROXY, native_payment().data, 10**16 - 1)
    assert "; its value does not cover the fee; " in one("base", short).summary
    assert event_of(one("base", replace(short, value=10**16))).amount == 0


def test_a_payment_without_a_fee_says_so() -> None:
    assert one("base", payment(fee=0)).summary.startswith(f"Pay 12.5 USDC to {PAYEE} without a fee, reference ")


@pytest.mark.parametrize(
    ("transaction", "summary"),
    [
        (approve(USDC, PROXY, 12_625_000), "Allow ERC20FeeProxy to take up to 12.625 USDC"),
        (approve(USDC, BATCH, MAX_UINT256), "Allow BatchConversionPayments to take any amount of USDC"),
        (
            approve(USDC, address_of("ERC20RecurringPaymentProxy", "base"), 150_000_000),
            "Allow ERC20RecurringPaymentProxy to take up to 150 USDC",
        ),
        (approve(USDC, PROXY, 0), "Withdraw what ERC20FeeProxy may still take of USDC"),
        (approve(USDC, WALLET, 1), f"Allow {WALLET}, which is not a payment contract, to take up to 0.000001 USDC"),
        (
            approve(UNKNOWN_TOKEN, PROXY, 7),
            f"Allow ERC20FeeProxy to take up to 7 base units of the unlisted token {UNKNOWN_TOKEN}",
        ),
        (
            transfer_from(DAI, WALLET, PAYEE, 15 * 10**17),
            f"Move 1.5 DAI from {WALLET} to {PAYEE}, without a payment reference",
        ),
        (
            Transaction(USDC, "0xa9059cbb" + approve(USDC, PAYEE, 1_000_000).data[10:], 0),
            f"Send 1 USDC to {PAYEE}, without a payment reference",
        ),
    ],
)
def test_what_tokens_are_asked_is_told_in_one_sentence(transaction: Transaction, summary: str) -> None:
    assert one("base", transaction).summary == summary


@pytest.mark.parametrize(
    ("transaction", "human"),
    [
        (approve(USDC, PROXY, 12_625_000), ["ERC20FeeProxy", "12.625 USDC"]),
        (approve(UNKNOWN_TOKEN, WALLET, 7), [None, None]),
        (transfer_from(DAI, WALLET, PAYEE, 15 * 10**17), [None, None, "1.5 DAI"]),
    ],
)
def test_arguments_have_a_readable_form_for_known_contracts_and_listed_tokens(
    transaction: Transaction, human: list[str | None]
) -> None:
    assert [each.human for each in one("base", transaction).arguments] == human


def test_a_batch_is_told_with_its_sums_and_every_payment() -> None:
    shown = one("base", pay_batch("base", ITEMS, COLLECTOR))
    assert shown.summary == (
        "Make 3 payments in one transaction: 12.5 USDC, 1 DAI and 0.3 ETH-base, "
        f"with 0.125 USDC, 0.01 DAI and 0.001 ETH-base fees to {COLLECTOR}"
    )
    assert [call.contract for call in shown.calls] == ["ERC20FeeProxy", "ERC20FeeProxy", "EthereumFeeProxy"]
    assert [call.to for call in shown.calls] == [PROXY, PROXY, NATIVE_PROXY]
    assert [item_of(event_of(call)) for call in shown.calls] == [ITEMS[0], ITEMS[2], ITEMS[1]]
    assert shown.arguments[-1].human is None
    assert one("base", pay_batch("base", [ITEMS[0]], COLLECTOR)).summary.startswith("Make 1 payment in one")
    to_nobody = one("base", pay_batch("base", ITEMS, DEAD_ADDRESS))
    assert to_nobody.arguments[-1].human is None, "the link has fees"


def test_a_batch_without_fees_names_nobody() -> None:
    shown = one("base", pay_batch("base", [BatchItem(USDC, PAYEE, 1, REFERENCE)]))
    assert shown.summary == (
        "Make 1 payment in one transaction: 0.000001 USDC, without fees of the link; the batch contract may take its own"
    )
    assert [each.value for each in shown.arguments] == ["a list of 1", "a list of 0", DEAD_ADDRESS]
    assert shown.arguments[-1].human == "an address without an owner, as the link has no fees"


def test_the_batch_contracts_own_fee_is_told() -> None:
    shown = one("base", pay_batch("base", [BatchItem(None, PAYEE, 10**18, REFERENCE)], COLLECTOR, 30))
    own = "; up to 0.003 ETH-base are the batch contract's own fee, the rest comes back"
    assert shown.summary == f"Make 1 payment in one transaction: 1 ETH-base, without fees of the link{own}"
    assert shown.arguments[-1].human is None, "the address has an owner"


def test_a_payment_of_a_schedule_is_told_with_its_place_in_it() -> None:
    shown = one("base", recurring_payment(fee_amount=125_000, fee_address=COLLECTOR, relayer_fee=500))
    assert shown.summary == (
        f"Pay 12.5 USDC of {WALLET} to {PAYEE} with 0.125 USDC fee to {COLLECTOR}, and 0.0005 USDC to the sender, "
        "as payment 2 of the 12 of a signed schedule, reference 0x11497d24d1a76c9b"
    )
    assert (shown.contract, shown.function) == ("ERC20RecurringPaymentProxy", "triggerRecurringPayment")
    assert {each.name: each.human for each in shown.arguments if each.human} == {
        "p.token": "USDC",
        "p.amount": "12.5 USDC",
        "p.feeAmount": "0.125 USDC",
        "p.relayerFee": "0.0005 USDC",
    }
    assert event_of(shown) == event_of(one("base", payment())), "the event is that of the fee proxy"
    plain = one("base", recurring_payment()).summary
    assert plain.startswith(f"Pay 12.5 USDC of {WALLET} to {PAYEE} without a fee, as payment 2 of the 12 ")


@pytest.mark.parametrize(
    ("member", "kind", "bits"),
    [(4, "uint128", 128), (7, "uint32", 32), (9, "uint8", 8), (10, "uint256", 256), (12, "bool", 1), (14, "uint8", 8)],
)
def test_a_number_is_told_up_to_the_largest_of_its_type(member: int, kind: str, bits: int) -> None:
    built = recurring_payment()

    def shown(word: int) -> Explanation:
        at = 10 + 64 * member
        return one("base", replace(built, data=f"{built.data[:at]}{word:064x}{built.data[at + 64 :]}"))

    largest = shown(2**bits - 1)
    assert (kind, str(2**bits - 1)) in [(each.type, each.value) for each in largest.arguments]
    if bits < 256:
        assert f"; a word is too large for {kind}; " in shown(2**bits).summary


@pytest.mark.parametrize("length", [64, 66])
def test_a_schedule_with_a_signature_of_another_length_is_unknown(length: int) -> None:
    raw = bytes.fromhex(recurring_payment().data[10:])
    permit_and_index, reference = raw[: 16 * 32], raw[-64:]
    tail = length.to_bytes(32) + bytes(length).ljust(-(-length // 32) * 32, b"\0")
    words = permit_and_index[: 15 * 32] + (16 * 32 + len(tail)).to_bytes(32) + tail + reference
    shown = one("base", replace(recurring_payment(), data="0xac7a9e00" + words.hex()))
    assert shown.function is None
    assert "; its signature has another length; " in shown.summary


def test_a_bundle_tells_what_each_transaction_does() -> None:
    shown = one("base", EVERY_KIND["bundle"][1])
    assert shown.summary == "As a Safe, make 3 calls in one transaction"
    assert list(shown.calls) == list(explain("base", [approve(USDC, PROXY, 12_625_000), payment(), native_payment()]))


@pytest.mark.parametrize(("count", "calls"), [(1, "1 call"), (2, "2 calls")])
def test_a_bundle_says_how_many_calls_it_makes(count: int, calls: str) -> None:
    assert one("base", bundled(*[payment()] * count)).summary == f"As a Safe, make {calls} in one transaction"


def test_an_unknown_call_in_a_bundle_is_told_and_warned_of() -> None:
    stranger = Transaction(WALLET, "0x12345678", 5)
    shown = one("base", bundled(payment(), stranger, bundled(payment())))
    ending = "make 3 calls in one transaction, 2 of them unknown; do not sign unless you know them"
    assert shown.summary.endswith(ending)
    assert shown.calls[1] == one("base", stranger)
    assert shown.calls[2].function is None


def test_tron_is_told_in_its_own_addresses() -> None:
    shown = one("tron", pay_tron_batch("tron", TRON_ITEMS, TRON_COLLECTOR))
    assert shown.summary == (
        f"Make 2 payments in one transaction: 5.000007 USDT, with 0.050001 USDT fees to {TRON_COLLECTOR}"
    )
    assert [item_of(event_of(call)) for call in shown.calls] == TRON_ITEMS
    free = one("tron", pay_tron_batch("tron", [BatchItem(USDT_TRON, TRON_PAYEE, 1, REFERENCE)]))
    assert free.summary.endswith(" USDT, without fees"), "the batch contract there has no fee of its own"
    allowed = one("tron", approve(USDT_TRON, address_of("ERC20BatchPayments", "tron"), 5_050_008))
    assert (allowed.to, allowed.contract) == (USDT_TRON, "USDT")
    assert allowed.summary == "Allow ERC20BatchPayments to take up to 5.050008 USDT"
    paid = pay_erc20("tron", token=USDT_TRON, payee=TRON_PAYEE, amount=1, reference=REFERENCE)
    assert one("tron", paid).summary.startswith(f"Pay 0.000001 USDT to {TRON_PAYEE} without a fee")


@settings(max_examples=60)
@given(token=st.none() | addresses, payee=addresses, amount=amounts, reference=references, fee=amounts, to=addresses)
def test_every_payment_comes_back_exactly(
    token: str | None, payee: str, amount: int, reference: bytes, fee: int, to: str
) -> None:
    paid = {"payee": payee, "amount": amount, "reference": reference, "fee_amount": fee, "fee_address": to}
    built = pay_native("base", **paid) if token is None else pay_erc20("base", token=token, **paid)
    event = event_of(one("base", built))
    assert item_of(event) == BatchItem(token, payee, amount, reference, fee)
    assert event.fee_address == (to if fee else ZERO_ADDRESS)


@settings(max_examples=60)
@given(batch=st.lists(batch_items, min_size=1, max_size=6), collector=addresses)
def test_every_batch_comes_back_exactly(batch: list[BatchItem], collector: str) -> None:
    shown = one("base", pay_batch("base", batch, collector))
    tokens_first = sorted(batch, key=lambda item: item.token is None)
    assert [item_of(event_of(call)) for call in shown.calls] == tokens_first
    on_tron = [replace(item, token=USDT_TRON, payee=tron_address_of(bytes.fromhex(item.payee[2:]))) for item in batch]
    shown = one("tron", pay_tron_batch("tron", on_tron, TRON_COLLECTOR))
    assert [item_of(event_of(call)) for call in shown.calls] == on_tron


# --- everything else is unknown ---


@every_kind
def test_data_that_was_cut_or_made_longer_is_unknown(network: str, transaction: Transaction) -> None:
    assert one(network, transaction).function is not None
    raw = bytes.fromhex(transaction.data[2:])
    for changed in (*(raw[:end] for end in range(len(raw))), raw + bytes(1), raw + bytes(32), raw + raw):
        shown = one(network, Transaction(transaction.to, "0x" + changed.hex(), transaction.value))
        assert (shown.function, shown.arguments, shown.calls) == (None, (), ())
        assert shown.summary.startswith("Unknown call: ")
        assert shown.summary.endswith("do not sign unless you know it")


@pytest.mark.parametrize("part", parts(4))
@every_kind
def test_a_changed_byte_is_unknown_or_told_as_it_is(network: str, transaction: Transaction, part: int) -> None:
    raw = bytes.fromhex(transaction.data[2:])
    for position in range(part, len(raw), 4):
        for flip in (0x01, 0xFF):
            data = "0x" + (raw[:position] + bytes([raw[position] ^ flip]) + raw[position + 1 :]).hex()
            changed = Transaction(transaction.to, data, transaction.value)
            shown = one(network, changed)
            assert shown.function is None or built_again(network, shown, changed) == data


@settings(max_examples=150)
@given(selector=st.sampled_from([*FUNCTIONS]), words=st.lists(st.integers(0, 0x200), max_size=30), rest=st.binary())
def test_nothing_raises(selector: bytes, words: list[int], rest: bytes) -> None:
    data = "0x" + selector.hex() + b"".join(word.to_bytes(32, "big") for word in words).hex() + rest.hex()
    for network, to in (("base", PROXY), ("base", BATCH), ("base", USDC), ("tron", USDT_TRON), ("base", "nonsense")):
        one(network, Transaction(to, data, 1))
    explain_data(data)


@pytest.mark.parametrize("data", ["0x", "", "0x1", "0x123456", "095ea7b3", "0xzz", "0x09 5e a7 b3", "0x12345678\n"])
def test_what_is_no_call_is_unknown(data: str) -> None:
    assert one("base", Transaction(PROXY, data, 0)).function is None


@pytest.mark.parametrize("data", ["", "0x1", "095ea7b3", "0xzz", "0x09 5e a7 b3", "0x12345678\n"])
def test_data_that_is_not_hexadecimal_is_said_to_be_so(data: str) -> None:
    said = "Unknown call: no function; the data is not hexadecimal; do not sign unless you know it"
    assert explain_data(data).summary == said


@pytest.mark.parametrize(
    ("value", "sent"), [(0, ""), (5, " with 0.000000000000000005 ETH-base"), (10**18, " with 1 ETH-base")]
)
def test_the_summary_of_an_unknown_call_names_its_contract_and_the_coins_sent(value: int, sent: str) -> None:
    shown = one("base", Transaction(WALLET, "0x12345678", value))
    said = f"Unknown call: 4 bytes 0x12345678 to {WALLET}{sent}; no such function is used here; do not sign unless you know it"
    assert (shown.summary, shown.to, shown.contract) == (said, WALLET, "unknown contract")


def test_the_hash_of_the_native_coin_is_no_token() -> None:
    coin = native_hash("base")
    shown = one("base", approve(coin, PROXY, 1))
    assert (shown.function, shown.contract) == (None, "unknown contract")
    assert f" to {evm_address(coin)}; this is not a token; " in shown.summary


def test_without_a_network_addresses_of_both_families_are_read_and_nothing_is_known_of_them() -> None:
    data, unchecked = approve(USDC, PROXY, 5).data, "; the address of the contract was not checked"
    for to in (USDC, USDT_TRON):
        shown = explain_data(data, None, to)
        assert shown.summary == f"Allow {PROXY} to take up to 5 base units of the unlisted token {to}{unchecked}"
        assert (shown.to, shown.contract) == (to, "unknown contract")
    shown = explain_data(data)
    assert shown.summary == f"Allow {PROXY} to take up to 5 base units of a token that is not told{unchecked}"


def test_an_address_is_checked_where_both_the_network_and_the_contract_are_given() -> None:
    data, unchecked = payment().data, "; the address of the contract was not checked"
    assert not explain_data(data, "base", PROXY).summary.endswith(unchecked)
    for network, to in (("base", None), (None, PROXY), (None, None)):
        assert explain_data(data, network, to).summary.endswith(unchecked)
    assert not explain_data("0x12345678", "base").summary.endswith(unchecked)


@every_kind
def test_a_call_of_another_contract_is_unknown(network: str, transaction: Transaction) -> None:
    others = (address_of("Multicall3", "base"), USDC, PROXY, BATCH) if network == "base" else (USDT_TRON, TRON_PAYEE)
    contract = one(network, transaction).contract
    for other in others if contract not in ("USDC", "USDT") else (PROXY, BATCH, native_hash("base")):
        if other != transaction.to:
            assert one(network, Transaction(other, transaction.data, transaction.value)).function is None
    assert one(network, Transaction("0x12", transaction.data, transaction.value)).function is None


def test_a_contract_of_another_network_is_unknown() -> None:
    assert one("mainnet", payment()).summary == (
        f"Unknown call: 4 bytes 0xc219a14d to {PROXY}; this is not the ERC20FeeProxy of the network; "
        "do not sign unless you know it"
    )


def test_coins_sent_where_none_belong_are_unknown() -> None:
    for kind, (network, transaction) in EVERY_KIND.items():
        more = Transaction(transaction.to, transaction.data, transaction.value + 1)
        assert (one(network, more).function is None) == (
            kind
            not in ("pay native", "pay native converted", "batch of many", "batch of the coin", "batch with conversions")
        )
    short = Transaction(BATCH, EVERY_KIND["batch of many"][1].data, ITEMS[1].amount)
    assert one("base", short).function is None
    tokens_only = pay_batch("base", [ITEMS[0], ITEMS[2]], COLLECTOR)
    assert one("base", Transaction(BATCH, tokens_only.data, 1)).function is None


def test_a_payment_of_the_coin_as_if_it_were_a_token_is_unknown() -> None:
    coin = Transaction(PROXY, payment().data.replace(USDC[2:].lower(), native_hash("base")[2:].lower()), 0)
    assert "; the native coin is not a token; " in one("base", coin).summary


def test_fees_that_would_not_arrive_are_unknown() -> None:
    for transaction in (payment(), pay_batch("base", ITEMS, COLLECTOR)):
        nobody = transaction.data.replace(COLLECTOR[2:].lower(), "00" * 20)
        assert one("base", Transaction(transaction.to, nobody, transaction.value)).function is None
    free, end = payment(fee=0).data, 10 + 6 * 64
    named = Transaction(PROXY, free[: end - 40] + COLLECTOR[2:].lower() + free[end:], 0)
    assert "; it names a fee address and no fee; " in one("base", named).summary


DETAILS = "(address,uint256,address[],bytes,uint256,uint256,uint256)[]"
DETAIL = (PAYEE, 5, [USDC], REFERENCE, 1, 0, 0)


def batch_call(details: list[Any], paths: list[Any], collector: str = COLLECTOR) -> Transaction:
    """batchERC20Payments as an ABI library encodes it, with what the service's own encoder never writes."""
    arguments = encode([DETAILS, "address[][]", "address"], [details, paths, collector])
    return Transaction(BATCH, "0x9af8a581" + arguments.hex(), 0)


def test_a_batch_with_paths_to_usd_is_unknown() -> None:
    """They cap the contract's own fee, which an explanation would have to say."""
    assert one("base", batch_call([DETAIL], [])).function is not None
    assert one("base", batch_call([DETAIL], [[USDC, DAI]])).function is None


@pytest.mark.parametrize(
    "detail",
    [(PAYEE, 5, [USDC, DAI], REFERENCE, 1, 0, 0), (PAYEE, 5, [USDC], REFERENCE, 1, 9, 0), (PAYEE, 5, [USDC], REFERENCE, 1, 0, 9)],
    ids=["path", "most to spend", "age of the rate"],
)
def test_a_batch_that_converts_between_currencies_is_unknown(detail: Any) -> None:
    assert one("base", batch_call([DETAIL, detail], [])).function is None


def test_an_empty_batch_and_one_whose_fees_go_to_nobody_are_unknown() -> None:
    assert one("base", batch_call([], [])).function is None
    assert one("base", batch_call([DETAIL], [], "0x" + "00" * 20)).function is None


TRON_ROW = ("0x" + "11" * 20, 5, REFERENCE, 1)


def tron_batch_call(payees: Any, amounts: Any, references: Any, fees: Any, collector: str = COLLECTOR) -> Transaction:
    kinds = ["address", "address[]", "uint256[]", "bytes[]", "uint256[]", "address"]
    token = tron_to_evm(USDT_TRON)
    arguments = encode(kinds, [token, payees, amounts, references, fees, collector])
    return Transaction(address_of("ERC20BatchPayments", "tron"), "0xc6e6d98b" + arguments.hex(), 0)


def test_a_batch_on_tron_has_as_many_of_each_at_least_one_and_an_address_for_fees() -> None:
    columns = [[each] for each in TRON_ROW]
    assert one("tron", tron_batch_call(*columns)).function is not None
    for position, column in enumerate(columns):
        longer = [*columns[:position], column * 2, *columns[position + 1 :]]
        assert one("tron", tron_batch_call(*longer)).function is None
    for refused in (tron_batch_call([], [], [], []), tron_batch_call(*columns, ZERO_ADDRESS)):  # type: ignore[call-arg]
        assert "it is not a batch as it is built here" in one("tron", refused).summary
    free = tron_batch_call(*columns[:3], [0], ZERO_ADDRESS)  # type: ignore[call-arg]
    assert "it is not a batch as it is built here" in one("tron", free).summary


def test_a_network_that_is_not_ours_is_refused() -> None:
    with pytest.raises(LookupError):
        explain("gnosis", [])
