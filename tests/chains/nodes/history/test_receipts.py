"""Whom a receipt shows as the payer of a payment, and when it shows nobody."""

from typing import Any

import pytest

from chalicelib.base.addresses import evm_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.keccak import keccak256
from chalicelib.chains.calldata.tokens.erc3009 import AUTHORIZATION_USED
from chalicelib.chains.catalogue.contracts import payment_contracts
from chalicelib.chains.nodes.bridges.deposits import fills_in
from chalicelib.chains.nodes.history.logs import InconsistentNode
from chalicelib.chains.nodes.history.receipts import PaidTransfer, PaymentSender, payers_of, read_receipts
from chalicelib.chains.nodes.history.transfers import transfers_of
from chalicelib.chains.nodes.rpc.http_client import HttpResponse
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient
from chalicelib.chains.nodes.rpc.receipts import MOST_LOGS, find_receipts, logs_in
from tests.chains.nodes.bridges import fill_logs
from tests.chains.nodes.bridges.fill_logs import HASH, MINE, THEIRS, Log, fill, in_transaction, moved, payment
from tests.chains.nodes.bridges.fill_logs import paid as made_by
from tests.chains.nodes.nodes import NodeResponses, node_of

TX, KEY = "0x" + "ab" * 32, "0123456789abcdef-0"
TRANSFER = "0x" + keccak256(b"Transfer(address,address,uint256)").hex()
WALLET, OTHER, PAYEE, TOKEN = (evm_address("0x" + digit * 40) for digit in "1267")
PROXY, BATCH = payment_contracts("sepolia")[0], payment_contracts("sepolia")[-1]
PAID = PaidTransfer(TX, TOKEN, PAYEE, 500, KEY)
NATIVE = PaidTransfer(TX, None, PAYEE, 500, KEY)


def word(address: str) -> str:
    return "0x" + address[2:].lower().rjust(64, "0")


def transfer(sender: str, to: str, amount: int = 500, **changes: Any) -> dict[str, Any]:
    return {"address": TOKEN, "topics": [TRANSFER, word(sender), word(to)], "data": f"0x{amount:064x}", **changes}


def receipt(*logs: dict[str, Any], sender: str = WALLET, to: str | None = PROXY) -> dict[str, Any]:
    return {"transactionHash": TX, "from": sender, "to": to, "logs": list(logs)}


def node(found: dict[str, Any] | None, code: str = "0x") -> NodeResponses:
    return NodeResponses(
        {"eth_getTransactionReceipt": lambda tx_hash: found, "eth_getCode": lambda address, block: code}
    )


def payer(found: dict[str, Any] | None, paid: PaidTransfer = PAID, code: str = "0x") -> PaymentSender | None:
    (sender,) = payers_of(node_of("sepolia", node(found, code)), [paid])
    return sender


def test_the_payer_of_a_token_sent_it_to_the_payee() -> None:
    assert payer(receipt(transfer(WALLET, PAYEE))) == PaymentSender(WALLET, True)
    assert payer(receipt(transfer(OTHER, PAYEE), sender=WALLET)) == PaymentSender(OTHER, True)
    assert payer(
        receipt(transfer(WALLET, PAYEE, topics=[TRANSFER.upper().replace("0X", "0x"), word(WALLET), word(PAYEE)]))
    )


@pytest.mark.parametrize(
    "other",
    [
        transfer(OTHER, PAYEE, 499),
        transfer(OTHER, WALLET),
        transfer(OTHER, PAYEE, address=OTHER),
        transfer(OTHER, PAYEE, address="0x" + "ff" * 19 + "fe"),  # of the native coin (EIP-7708)
        transfer(OTHER, PAYEE, topics=["0x" + "00" * 32, word(OTHER), word(PAYEE)]),
        transfer(OTHER, PAYEE, topics=[TRANSFER, word(OTHER)]),
        transfer(OTHER, PAYEE, topics=[TRANSFER, word(OTHER), word(PAYEE), word(PAYEE)]),
        transfer(OTHER, PAYEE, topics=[]),
        transfer(OTHER, PAYEE, data="0x"),
        transfer(OTHER, PAYEE, data="0x" + f"{500:064x}" + "00" * 32),
    ],
)
def test_other_logs_of_the_transaction_do_not_matter(other: dict[str, Any]) -> None:
    assert payer(receipt(other, transfer(WALLET, PAYEE), other)) == PaymentSender(WALLET, True)
    assert payer(receipt(other)) is None


SERVICE, SIGNER, STRANGER = "0x" + "8" * 40, "0x" + "a" * 40, "0x" + "b" * 40


def signed_by(signer: str, token: str = fill_logs.TOKEN) -> Log:
    """The event of a token whose transfer `signer` has signed (ERC-3009)."""
    return {"address": token, "topics": [AUTHORIZATION_USED, word(signer), "0x" + "77" * 32], "data": "0x"}


def payers_of_service(*groups: Any, to: str = SERVICE) -> list[str | None]:
    """The payers of the payments of a transaction that the service sends to `to`, in their order."""
    logs = in_transaction(list(groups))
    found = transfers_of("arbitrum-one", logs)
    paid = [PaidTransfer(HASH, each.token_address, PAYEE, each.amount, each.event_key) for each in found]
    sent = {"transactionHash": HASH, "from": SERVICE, "to": to, "logs": logs[::-1]}
    return [each and each.address.lower() for each in payers_of(node_of("arbitrum-one", node(sent)), paid)]


TAKEN = [signed_by(SIGNER), moved(SIGNER, SERVICE, 510)]


def test_the_payer_of_a_gasless_payment_signed_the_transfer_to_the_service() -> None:
    assert payers_of_service(TAKEN, made_by(SERVICE, 500)) == [SIGNER]
    assert payers_of_service(TAKEN, made_by(SERVICE, 500), to=PROXY) == [SERVICE], "it is no call of itself"


@pytest.mark.parametrize(
    "before",
    [
        [signed_by(SIGNER)],
        [signed_by(SIGNER), moved(SIGNER, SERVICE, 499)],
        [signed_by(SIGNER), moved(SIGNER, STRANGER, 510)],
        [signed_by(SIGNER), moved(STRANGER, SERVICE, 510)],
        [signed_by(SIGNER, STRANGER), moved(SIGNER, SERVICE, 510)],
        [signed_by(SIGNER), {**moved(SIGNER, SERVICE, 510), "address": STRANGER}],
        [moved(SIGNER, SERVICE, 510), signed_by(SIGNER)],
        [*TAKEN, signed_by(STRANGER)],
    ],
    ids=["no transfer", "less", "to another", "of another", "event of another token", "transfer of another token",
         "before it is signed", "another one is signed after it"],
)  # fmt: skip
def test_who_signs_without_paying_the_service_is_no_payer(before: list[Log]) -> None:
    assert payers_of_service(before, made_by(SERVICE, 500)) == [SERVICE]


def test_a_hostile_payer_who_has_a_signature_used_in_between_does_not_become_the_payer() -> None:
    """What a payer's own code does while its tokens move: it has another transfer used that is signed to itself."""
    inner = [signed_by(STRANGER), moved(STRANGER, STRANGER, 510)]
    assert payers_of_service(TAKEN, inner, made_by(SERVICE, 500)) == [SERVICE], "nobody rather than a stranger"
    assert payers_of_service(inner, TAKEN, made_by(SERVICE, 500)) == [SIGNER]


def test_each_payment_of_a_batch_has_the_payer_who_signed_since_the_one_before() -> None:
    other = [signed_by(STRANGER), moved(STRANGER, SERVICE, 510)]
    assert payers_of_service(TAKEN, made_by(SERVICE, 500), other, made_by(SERVICE, 500)) == [SIGNER, STRANGER]
    assert payers_of_service(TAKEN, made_by(SERVICE, 500), made_by(SERVICE, 500)) == [SIGNER, SERVICE]


def test_nobody_is_the_payer_where_a_receipt_shows_none_or_several() -> None:
    assert payer(None) is None
    assert payer(receipt()) is None
    assert payer(receipt(transfer(WALLET, PAYEE), transfer(OTHER, PAYEE))) is None


def test_behind_the_batch_contract_the_payer_is_who_sent_it_the_token() -> None:
    paid = transfer(BATCH, PAYEE)
    assert payer(receipt(transfer(WALLET, BATCH, 9_000), paid)) == PaymentSender(WALLET, True)
    assert payer(receipt(transfer(WALLET, BATCH, 400), transfer(WALLET, BATCH, 600), paid)) == PaymentSender(
        WALLET, True
    )
    assert payer(receipt(paid)) is None
    assert payer(receipt(transfer(WALLET, BATCH, 400), transfer(OTHER, BATCH, 600), paid)) is None
    assert payer(receipt(transfer(PROXY, BATCH, 900), paid)) is None, "a payment contract is never the payer"
    assert payer(receipt(transfer(WALLET, BATCH, 900), paid, transfer(OTHER, PAYEE))) is None


def test_the_payer_of_the_native_coin_called_a_payment_contract_directly() -> None:
    for contract in payment_contracts("sepolia"):
        assert payer(receipt(to=contract), NATIVE) == PaymentSender(WALLET, True)
    assert payer(receipt(to=OTHER), NATIVE) is None
    assert payer(receipt(to=None), NATIVE) is None


@pytest.mark.parametrize(
    ("code", "is_wallet"),
    [
        ("0x", True),
        ("0x6", False),
        ("0x6001", False),
        ("0xef0100" + "11" * 20, True),
        ("0xef0100" + "11" * 21, False),
        ("0xef0101" + "11" * 20, False),
    ],
)
def test_an_address_with_code_is_no_wallet_unless_its_key_delegates(code: str, is_wallet: bool) -> None:
    assert payer(receipt(transfer(OTHER, PAYEE)), code=code) == PaymentSender(OTHER, is_wallet)
    assert payer(receipt(transfer(WALLET, PAYEE)), code=code) == PaymentSender(WALLET, True), (
        "it signed the transaction"
    )


def test_the_payer_of_the_native_coin_is_not_read_from_the_logs_of_its_transfers() -> None:
    """EIP-7708: the system address emits a log for each transfer of the coin, also for those between contracts."""
    coin = [transfer(sender, to, address="0x" + "ff" * 19 + "fe") for sender, to in ((OTHER, PROXY), (PROXY, PAYEE))]
    assert payer(receipt(*coin), NATIVE) == PaymentSender(WALLET, True)
    assert payer(receipt(*coin, to=OTHER), NATIVE) is None


def test_several_payments_are_two_requests_and_each_receipt_and_code_is_read_once() -> None:
    http = node(receipt(transfer(OTHER, PAYEE), transfer(OTHER, PAYEE, 7)))
    paid = [PAID, PaidTransfer(TX, TOKEN, PAYEE, 7, KEY), PaidTransfer(TX, TOKEN, PAYEE, 8, KEY)]
    assert payers_of(node_of("sepolia", http), paid) == (PaymentSender(OTHER, True), PaymentSender(OTHER, True), None)
    assert http.requests == 2
    assert http.sent == [("eth_getTransactionReceipt", [TX]), ("eth_getCode", [OTHER.lower(), "latest"])]


def test_a_receipt_of_another_form_is_no_response() -> None:
    with pytest.raises(ChainUnavailable):
        payer({"transactionHash": TX, "from": WALLET})


def test_the_receipt_of_another_transaction_is_a_contradiction() -> None:
    found = receipt(transfer(WALLET, PAYEE))
    assert payer({**found, "transactionHash": TX.upper().replace("0X", "0x")}) == PaymentSender(WALLET, True)
    with pytest.raises(InconsistentNode):
        payer({**found, "transactionHash": "0x" + "cd" * 32})
    with pytest.raises(ChainUnavailable):
        payer({name: value for name, value in found.items() if name != "transactionHash"})


def test_receipts_are_found_whether_hashes_have_0x_or_not() -> None:
    found = receipt(transfer(WALLET, PAYEE), transfer(OTHER, PAYEE))
    http = node(found)
    for each in (TX, TX.removeprefix("0x")):
        assert logs_in(find_receipts(node_of("sepolia", http), [each])) == tuple(found["logs"])
    assert find_receipts(node_of("sepolia", http), [TX, TX.removeprefix("0x")]).keys() == {TX, TX.removeprefix("0x")}
    assert [method for method, _ in http.sent] == ["eth_getTransactionReceipt"] * 3, "each is read once"
    assert logs_in(find_receipts(node_of("sepolia", node(None)), [TX])) == ()


def test_receipts_that_were_read_are_not_asked_for_again_to_find_the_payers() -> None:
    http = node(receipt(transfer(OTHER, PAYEE)))
    read = find_receipts(node_of("sepolia", http), [TX])
    assert payers_of(node_of("sepolia", http), [PAID], read) == (PaymentSender(OTHER, True),)
    assert [method for method, _ in http.sent] == ["eth_getTransactionReceipt", "eth_getCode"]


EARLIER = [fill(THEIRS), *payment(THEIRS)]


@pytest.mark.parametrize("before", [[], EARLIER])
def test_the_payer_of_what_the_bridge_brought_deposited_it_on_the_other_network(before: list[Log]) -> None:
    """Of several equal ones in a transaction, whose keys differ, each is of its own depositor."""
    logs = in_transaction([*before, fill(MINE), *payment(MINE)])
    found = transfers_of("arbitrum-one", logs)
    paid = [PaidTransfer(HASH, each.token_address, PAYEE, each.amount, each.event_key) for each in found]
    receipt_of_both = {"transactionHash": HASH, "from": OTHER, "to": PROXY, "logs": logs[::-1]}
    senders = payers_of(node_of("arbitrum-one", node(receipt_of_both, "0x6001")), paid)
    expected = [THEIRS, MINE] if before else [MINE]
    keys = [each.key for each in fills_in("arbitrum-one", logs)]
    assert senders == tuple(
        PaymentSender(each.depositor, is_wallet=False, bridged_from="base", fill_key=key)
        for each, key in zip(expected, keys, strict=True)
    )


def test_what_no_fill_brought_was_sent_by_whom_it_came_from() -> None:
    logs = in_transaction([fill(MINE, is_empty=True), *payment(MINE)])
    (found,) = transfers_of("arbitrum-one", logs)
    paid = PaidTransfer(HASH, found.token_address, PAYEE, found.amount, found.event_key)
    receipt_of_it = {"transactionHash": HASH, "from": OTHER, "to": PROXY, "logs": logs}
    (sender,) = payers_of(node_of("arbitrum-one", node(receipt_of_it, "0x6001")), [paid])
    assert sender == PaymentSender(MINE.recipient, is_wallet=False)


@pytest.mark.parametrize("listed", [True, False])
def test_a_transaction_with_a_receipt_of_another_block_is_not_in_one_whose_list_lacks_it(listed: bool) -> None:
    block = {"hash": "0x" + "11" * 32, "number": "0x7", "transactions": [TX] if listed else []}
    elsewhere = {**receipt(transfer(WALLET, PAYEE)), "blockHash": "0x" + "22" * 32}
    answers = NodeResponses(
        {"eth_getTransactionReceipt": lambda tx_hash: elsewhere, "eth_getBlockByNumber": lambda number, full: block}
    )
    assert read_receipts(node_of("sepolia", answers), 7, [TX]).logs == ({} if listed else {TX: ()})


def test_of_receipts_that_are_too_long_together_those_with_few_logs_are_all_kept() -> None:
    """Six transactions of 16 million gas each, of which anybody can pay for any number, and two honest ones."""
    counts = [17_000, 1, 17_000, 17_000, 17_000, 500, 501, 17_000, 17_000]
    hashes = [f"0x{number:064x}" for number in range(len(counts))]
    log = {"address": TOKEN, "topics": [], "data": "0x"}
    answers = {of: {"transactionHash": of, "logs": [log] * count} for of, count in zip(hashes, counts, strict=True)}
    found = find_receipts(node_of("sepolia", NodeResponses({"eth_getTransactionReceipt": answers.__getitem__})), hashes)
    assert [counts[hashes.index(each)] for each in found] == [17_000, 1, 17_000, 500, 501]
    assert sum(len(each["logs"]) for each in found.values() if each) <= MOST_LOGS
    (alone, *_) = hashes
    answers[alone] = {"transactionHash": alone, "logs": [log] * (MOST_LOGS + 1)}
    again = node_of("sepolia", NodeResponses({"eth_getTransactionReceipt": answers.__getitem__}))
    assert list(find_receipts(again, hashes[:1])) == [alone]


@pytest.mark.parametrize("odd", ["", "\0", "12", "T" * 34, "0X" + "ab" * 20, "0x" + "ab" * 19])
def test_a_receipt_with_an_address_that_is_none_is_no_response_wherever_it_stands(odd: str) -> None:
    for found in (
        receipt(transfer(WALLET, PAYEE), sender=odd or "?"),
        receipt(transfer(WALLET, PAYEE), to=odd or "?"),
        receipt(transfer(WALLET, PAYEE, address=odd)),
    ):
        with pytest.raises(ChainUnavailable, match="does not answer as it should"):
            payer(found)


class Slow(NodeResponses):
    """A node each of whose requests takes a second of `now`. It says how many calls each had."""

    def __init__(self) -> None:
        super().__init__({"eth_getTransactionReceipt": lambda of: {"transactionHash": of, "logs": []}})
        self.now, self.asked = 0.0, list[int]()

    def post_json(self, path: str, body: Any, max_bytes: int) -> HttpResponse:
        calls = body if isinstance(body, list) else [body]
        self.now += 1
        self.asked.append(len(calls))
        return super().post_json(path, calls, max_bytes)


@pytest.mark.parametrize(("batches", "most"), [(True, 50), (False, 1)])
def test_many_receipts_are_read_a_response_at_a_time_until_five_seconds_are_over(
    batches: bool, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody can have 500 transactions with two equal payments read, each with a receipt of 300 kB."""
    http = Slow()
    monkeypatch.setattr("chalicelib.chains.nodes.rpc.receipts.time.monotonic", lambda: http.now)
    hashes = [f"0x{number:064x}" for number in range(500)]
    found = find_receipts(JsonRpcClient("tron", http, batches=batches), hashes)
    assert http.asked == [most] * 5
    assert list(found) == hashes[: 5 * most], "the others are read later"
