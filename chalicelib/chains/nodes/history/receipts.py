"""Finds the payers of payments in the receipts of transactions.

The payer of a token is the sender of the ERC-20 transfer to the payee. A batch contract first takes the tokens itself;
the payer is then the address that sent it the token in the same transaction. Any other contract counts as the payer.

An account that sends a transaction to itself makes calls at once by the code that it delegates to (EIP-7702). Whoever
signed the last transfer of the token to it before the payment (ERC-3009) is the payer then, as of a gasless payment.

The payer of a native payment is the transaction's sender if the transaction calls a payment contract directly. It is
unknown otherwise, because somebody else may send the transaction of a Safe or a smart account.

A payment that the bridge brought comes from the contract that makes the bridge's calls. Its payer is who deposited it
on another network, by the event of the fill that made the payment (fills.py).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from chalicelib.base.addresses import ZERO_ADDRESS, address_bytes, address_of_log
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.tokens.erc3009 import AUTHORIZATION_USED
from chalicelib.chains.catalogue.contracts import payment_contracts
from chalicelib.chains.catalogue.networks import find_network, network_of_chain
from chalicelib.chains.nodes.bridges.deposits import token_transfer
from chalicelib.chains.nodes.bridges.fills import payments_of_fills
from chalicelib.chains.nodes.history.blocks import header_hash
from chalicelib.chains.nodes.history.transfers import transfers_of
from chalicelib.chains.nodes.rpc.hex_values import hash_of, quantity
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, block_at, code_at, delegates, unavailable_if_malformed
from chalicelib.chains.nodes.rpc.receipts import RawReceipts, find_receipts


@frozen
class PaidTransfer:
    """A payment whose payer is looked up; `token_address` is None for the native coin, `amount` in base units.

    `event_key` tells it from equal ones of its transaction (chains/nodes/history/logs.py).
    """

    tx_hash: str
    token_address: str | None
    payee: str
    amount: int
    event_key: str


@frozen
class BlockReceipts:
    """The hash of a block, and the logs of transactions in it as the node's JSON: none of a transaction that it does
    not have. A transaction of which the node does not say is not among them."""

    hash: str
    logs: Mapping[str, tuple[Mapping[str, Any], ...]]

    @property
    def all_logs(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(log for each in self.logs.values() for log in each)


@frozen
class PaymentSender:
    """The address that a payment came from. `is_wallet` if a key owns it, so that a refund to it reaches the payer.

    Other addresses are contracts: contract wallets, or contracts that forward payments and would keep a refund. With
    `bridged_from`, the address is a wallet on that other network, and nothing is known of it on this one; `fill_key` is
    then that of the deposit that was filled (bridges.py).
    """

    address: str
    is_wallet: bool
    bridged_from: str | None = None
    fill_key: str | None = None


@unavailable_if_malformed
def read_receipts(node: JsonRpcClient, number: int, tx_hashes: Sequence[str]) -> BlockReceipts:
    """Of transactions (hashes with or without 0x), what is in the block at a height; two requests.

    A transaction without a receipt from this block is not in it only if the block's own list does not have it. Raises
    ChainUnavailable if the node does not have the block.
    """
    (header,) = node.results([block_at(number)])
    if not header:
        raise ChainUnavailable(f"The {node.network} node does not have block {number}")
    block, transactions = header_hash(node, header, number), {hash_of(each) for each in header["transactions"]}
    found = find_receipts(node, tx_hashes)
    logs = dict[str, tuple[Mapping[str, Any], ...]]()
    for tx_hash in tx_hashes:
        receipt = found.get(tx_hash)
        if receipt and hash_of(receipt["blockHash"]) == block:
            logs[tx_hash] = tuple(receipt["logs"])
        elif "0x" + tx_hash.removeprefix("0x") not in transactions:
            logs[tx_hash] = ()
    return BlockReceipts(block, logs)


@unavailable_if_malformed
def payers_of(
    node: JsonRpcClient, payments: Sequence[PaidTransfer], read: RawReceipts | None = None
) -> tuple[PaymentSender | None, ...]:
    """The sender of each payment; None if the receipt does not show it.

    One request for the receipts that are not `read`, and a second one for the code of payers that did not send the
    transaction themselves. Raises ChainUnavailable if the node does not return one of them.
    """
    known = read or {}
    receipts = {**known, **find_receipts(node, [each.tx_hash for each in payments if each.tx_hash not in known])}
    payers = [_payer(node.network, receipts[payment.tx_hash], payment) for payment in payments]
    bridged = [_find_depositor(node.network, receipts[payment.tx_hash], payment) for payment in payments]
    senders = {address_bytes(receipt["from"]) for payment in payments if (receipt := receipts[payment.tx_hash])}
    contracts = _contracts(node, [raw for raw in dict.fromkeys(payers) if raw is not None and raw not in senders])
    return tuple(
        found or (None if raw is None else PaymentSender(_text(node.network, raw), raw not in contracts))
        for raw, found in zip(payers, bridged, strict=True)
    )


def _find_depositor(name: str, receipt: Mapping[str, Any] | None, paid: PaidTransfer) -> PaymentSender | None:
    """Who deposited a payment that the bridge brought; None for other payments."""
    if not receipt or paid.token_address is None:
        return None
    found = (each for each in payments_of_fills(name, receipt["logs"]) if each.payment.event_key == paid.event_key)
    fill = next((each.fill for each in found), None)
    origin = network_of_chain(fill.origin_chain_id) if fill is not None else None
    if fill is None or fill.depositor is None or origin is None:
        return None
    return PaymentSender(fill.depositor, is_wallet=False, bridged_from=origin.name, fill_key=fill.key)


def _payer(name: str, receipt: Mapping[str, Any] | None, paid: PaidTransfer) -> bytes | None:
    """The 20 bytes of the payer's address; None if the receipt shows none, or more than one."""
    if not receipt:
        return None
    contracts = {address_bytes(contract) for contract in payment_contracts(name)}
    if paid.token_address is None:
        called = receipt.get("to")
        return address_bytes(receipt["from"]) if called and address_bytes(called) in contracts else None
    token = address_bytes(paid.token_address)
    transfers = [transfer for log in receipt["logs"] if (transfer := token_transfer(log, token)) is not None]
    senders = _senders(transfers, address_bytes(paid.payee), paid.amount)
    if len(senders) == 1 and senders <= contracts:
        senders = _senders(transfers, senders.pop())
    sender = senders.pop() if len(senders) == 1 and not senders & contracts else None
    if sender is not None and {address_bytes(receipt[end] or ZERO_ADDRESS) for end in ("from", "to")} == {sender}:
        return _authorizer(name, receipt, paid, sender) or sender
    return sender


def _authorizer(name: str, receipt: Mapping[str, Any], paid: PaidTransfer, sender: bytes) -> bytes | None:
    """Who signed a transfer of the token to the sender of a payment, in the same transaction before it and after any
    other payment, of at least its amount; None if nobody did."""
    payments = {each.log_index: each for each in transfers_of(name, receipt["logs"])}
    token = address_bytes(paid.token_address or ZERO_ADDRESS)
    signer: bytes | None = None
    authorizer: bytes | None = None
    for log in sorted(receipt["logs"], key=lambda log: quantity(log["logIndex"])):
        is_signed = len(log["topics"]) == 3 and log["topics"][0].lower() == AUTHORIZATION_USED
        if is_signed and address_bytes(log["address"]) == token:
            signer, authorizer = bytes.fromhex(log["topics"][1][-40:]), None
        payment = payments.get(quantity(log["logIndex"]))
        if payment is not None:
            if payment.event_key == paid.event_key:
                return authorizer
            signer = authorizer = None
        transfer = token_transfer(log, token)
        if transfer is not None and transfer[:2] == (signer, sender) and transfer[2] >= paid.amount:
            signer, authorizer = None, signer
    return None


def _contracts(node: JsonRpcClient, addresses: Sequence[bytes]) -> set[bytes]:
    """The addresses that have code and do not belong to a key."""
    codes = node.results([code_at("0x" + address.hex()) for address in addresses])
    return {address for address, code in zip(addresses, codes, strict=True) if len(code) > 2 and not delegates(code)}


def _text(name: str, raw: bytes) -> str:
    """An address as callers write it: EIP-55, or base58 on tron."""
    known = find_network(name)
    return address_of_log("0x" + raw.hex(), known.family if known else "evm")


def _senders(transfers: list[tuple[bytes, bytes, int]], receiver: bytes, amount: int | None = None) -> set[bytes]:
    return {sender for sender, to, transferred in transfers if to == receiver and amount in (None, transferred)}
