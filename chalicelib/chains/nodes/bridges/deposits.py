"""Reads what the bridge says on a chain: deposits of a transaction, how a deposit was filled, and what was returned.

The bridge is Across; one contract, the SpokePool, is on every chain. It identifies a deposit by its source chain and a
number, and knows whether it was filled by a hash over all that it says.

    FundsDeposited(inputToken, outputToken, inputAmount, outputAmount, indexed destinationChainId, indexed depositId,
                   quoteTimestamp, fillDeadline, exclusivityDeadline, indexed depositor, recipient, exclusiveRelayer,
                   message)
    FilledRelay(inputToken, outputToken, inputAmount, outputAmount, repaymentChainId, indexed originChainId,
                indexed depositId, fillDeadline, exclusivityDeadline, exclusiveRelayer, indexed relayer, depositor,
                recipient, messageHash, (updatedRecipient, updatedMessageHash, updatedOutputAmount, fillType))

Addresses are words of 32 bytes there, because not all of its chains are EVM chains.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chalicelib.base.addresses import address_bytes, evm_address, hex_address, same_address
from chalicelib.base.frozen import frozen
from chalicelib.base.keccak import keccak256
from chalicelib.base.money import MAX_UINT256
from chalicelib.chains.calldata.abi import WORD, address_word, bytes_tail, read_uint, uint_word
from chalicelib.chains.calldata.transaction import Call, LoggedDeposit
from chalicelib.chains.catalogue.contracts import ACROSS_SPOKE_POOL, address_of
from chalicelib.chains.nodes.history.full_blocks import LogFilter
from chalicelib.chains.nodes.history.log_ranges import logs_of
from chalicelib.chains.nodes.history.logs import TRANSFER_TOPIC, BlockRange
from chalicelib.chains.nodes.rpc.hex_values import hash_of, quantity
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, contract_read, unavailable_if_malformed

DEPOSITED_TOPIC = "0x32ed1a409ef04c7b0227189c3a103dc5ac10e775a15b785dcc510201f7c25ad3"
FILLED_TOPIC = "0x44b559f101f8fbcc8a0ea43fa91a05a729a5ea6e14a7c75aa750374690137208"
_FILL_STATUSES = "c35c83fc"
_BROUGHT_AMOUNT = 13 * WORD
"""Where the event of a fill has `updatedOutputAmount`: what the depositor has agreed to get, in the end."""
UNFILLED = (0, 1)
"""States of a deposit on its destination chain: nothing happened, and the slow way was asked for; 2 is filled."""


@frozen
class LoggedFill:
    """The fill of a deposit of another chain, in a transaction (0x and 64 digits) of the destination chain.

    The chain takes the word of whoever fills for what was deposited, and lets them fill what never was, with their own
    money and any number. `key` is that of the deposit that was filled (`fill_key`): only it says which one it was.
    `amount` base units of `token` are brought to the recipient.
    """

    key: str
    origin_chain_id: int
    deposit_id: int
    depositor: str | None
    recipient: str | None
    token: str | None
    amount: int
    tx_hash: str
    block_number: int
    block_hash: str


@frozen
class LoggedReturn:
    """Tokens that the bridge sent to a depositor, in base units."""

    amount: int
    tx_hash: str
    block_number: int
    block_hash: str


def deposits_in(network: str, logs: Iterable[Mapping[str, Any]]) -> tuple[LoggedDeposit, ...]:
    """The deposits between EVM chains that a network's SpokePool logged."""
    found = (_deposit(log) for log in _of_pool(network, logs, DEPOSITED_TOPIC))
    return tuple(each for each in found if each is not None)


def fills_in(network: str, logs: Iterable[Mapping[str, Any]]) -> tuple[LoggedFill, ...]:
    """The fills that a network's SpokePool logged."""
    return tuple(_fill(log) for log in _of_pool(network, logs, FILLED_TOPIC))


def relay_hash(each: LoggedDeposit, origin_chain_id: int) -> str:
    """What the destination chain knows a deposit by: keccak256(abi.encode(V3RelayData, destination chain id))."""
    deposit = each.deposit
    data = [
        address_word(deposit.depositor),
        address_word(deposit.recipient),
        address_word(deposit.exclusive_relayer),
        address_word(deposit.input_token),
        address_word(deposit.output_token),
        uint_word(deposit.input_amount),
        uint_word(deposit.output_amount),
        uint_word(origin_chain_id),
        uint_word(each.deposit_id),
        uint_word(deposit.fill_deadline),
        uint_word(deposit.exclusivity),
        uint_word(12 * WORD),
        bytes_tail(deposit.message),
    ]
    head = uint_word(2 * WORD) + uint_word(deposit.destination_chain_id)
    return "0x" + keccak256(head + b"".join(data)).hex()


def fill_key(each: LoggedDeposit, origin_chain_id: int) -> str:
    """A hash over all of a deposit that the event of its fill says, too."""
    deposit = each.deposit
    addresses = (
        *(deposit.depositor, deposit.recipient, deposit.exclusive_relayer),
        *(deposit.input_token, deposit.output_token),
    )
    numbers = (
        *(deposit.input_amount, deposit.output_amount, origin_chain_id, each.deposit_id),
        *(deposit.fill_deadline, deposit.exclusivity),
    )
    message = keccak256(deposit.message) if deposit.message else bytes(WORD)
    return _key([*map(address_word, addresses), *map(uint_word, numbers), message])


def _key(words: Iterable[bytes]) -> str:
    return "0x" + keccak256(b"".join(words)).hex()


@unavailable_if_malformed
def fills(node: JsonRpcClient, origin_chain_id: int, deposit_id: int, blocks: BlockRange) -> tuple[LoggedFill, ...]:
    """The fills of deposits with that number in a block range. One request.

    Raises RangeTooLarge if the node refuses the range.
    """
    pool = address_of(ACROSS_SPOKE_POOL, node.network)
    topics = (("0x" + uint_word(each).hex(),) for each in (origin_chain_id, deposit_id))
    return fills_in(node.network, logs_of(node, blocks, LogFilter((pool,), ((FILLED_TOPIC,), *topics))))


@unavailable_if_malformed
def returns(
    node: JsonRpcClient, token: str, depositor: str, least: int, blocks: BlockRange
) -> tuple[LoggedReturn, ...]:
    """What the SpokePool sent of a token to a depositor in a block range, at least `least` base units at once.

    One request. Raises RangeTooLarge if the node refuses the range.
    """
    pool = address_of(ACROSS_SPOKE_POOL, node.network)
    topics = (("0x" + address_word(each).hex(),) for each in (pool, depositor))
    wanted = LogFilter((token,), ((TRANSFER_TOPIC,), *topics))
    found = (_return(log) for log in logs_of(node, blocks, wanted))
    return tuple(each for each in found if each.amount >= least)


@unavailable_if_malformed
def fill_status(node: JsonRpcClient, relay: str, block: int) -> int:
    """The state of a deposit on its destination chain after a block; see UNFILLED. One request."""
    pool = address_of(ACROSS_SPOKE_POOL, node.network)
    call = Call(hex_address(pool), f"0x{_FILL_STATUSES}{relay[2:]}")
    return quantity(node.results([contract_read(call, hex(block))])[0], MAX_UINT256)


def token_transfer(log: Mapping[str, Any], token: bytes) -> tuple[bytes, bytes, int] | None:
    """(from, to, amount) of a log that is an ERC-20 transfer of the token; None for other logs."""
    topics, data = log["topics"], bytes.fromhex(log["data"][2:])
    if len(topics) != 3 or len(data) != WORD or topics[0].lower() != TRANSFER_TOPIC:
        return None
    if address_bytes(log["address"]) != token:
        return None
    return bytes.fromhex(topics[1][-40:]), bytes.fromhex(topics[2][-40:]), int.from_bytes(data, "big")


def sum_of_sent_tokens(logs: Iterable[Mapping[str, Any]], token: str, sender: str, receiver: str) -> int:
    """How much of a token an address sent to another one, by the logs of a transaction."""
    ends = [address_word(sender), address_word(receiver)]
    return sum(
        quantity(log["data"], MAX_UINT256)
        for log in logs
        if same_address(log["address"], token)
        and len(log["topics"]) == 3
        and log["topics"][0].lower() == TRANSFER_TOPIC
        and [bytes.fromhex(topic[2:]) for topic in log["topics"][1:]] == ends
    )


def _of_pool(network: str, logs: Iterable[Mapping[str, Any]], topic: str) -> Sequence[Mapping[str, Any]]:
    try:
        pool = address_of(ACROSS_SPOKE_POOL, network)
    except LookupError:
        return ()
    return [
        log
        for log in logs
        if same_address(log["address"], pool)
        and len(log["topics"]) == 4
        and log["topics"][0].lower() == topic
        and not log.get("removed")
    ]


def _deposit(log: Mapping[str, Any]) -> LoggedDeposit | None:
    """The deposit of a FundsDeposited log; None if an address in it is none of an EVM chain."""
    from chalicelib.chains.calldata.bridges.across import Deposit  # most transactions deposit nothing

    data, topics = bytes.fromhex(log["data"][2:]), [bytes.fromhex(topic[2:]) for topic in log["topics"]]
    words = [data[start : start + WORD] for start in range(0, 10 * WORD, WORD)]
    length = read_uint(data, 10 * WORD)
    message = data[11 * WORD : 11 * WORD + length]
    addresses = [_address(word) for word in (topics[3], words[7], words[0], words[1], words[8])]
    if read_uint(data, 9 * WORD) != 10 * WORD or len(message) != length or None in addresses:
        return None
    depositor, recipient, input_token, output_token, relayer = (str(each) for each in addresses)
    numbers = [int.from_bytes(word, "big") for word in words]
    deposit = Deposit(
        depositor=depositor,
        recipient=recipient,
        input_token=input_token,
        output_token=output_token,
        input_amount=numbers[2],
        output_amount=numbers[3],
        destination_chain_id=int.from_bytes(topics[1], "big"),
        exclusive_relayer=relayer,
        quote_timestamp=numbers[4],
        fill_deadline=numbers[5],
        exclusivity=numbers[6],
        message=message,
    )
    return LoggedDeposit(deposit, int.from_bytes(topics[2], "big"))


def _fill(log: Mapping[str, Any]) -> LoggedFill:
    data, topics = bytes.fromhex(log["data"][2:]), [bytes.fromhex(topic[2:]) for topic in log["topics"]]
    words = [data[start : start + WORD] for start in range(0, 11 * WORD, WORD)]
    of_deposit = [*(words[place] for place in (8, 9, 7, 0, 1, 2, 3)), *topics[1:3], words[5], words[6], words[10]]
    return LoggedFill(
        key=_key(of_deposit),
        origin_chain_id=quantity(log["topics"][1], 2**256),
        deposit_id=quantity(log["topics"][2], 2**256),
        depositor=_address(words[8]),
        recipient=_address(words[9]),
        token=_address(words[1]),
        amount=read_uint(data, _BROUGHT_AMOUNT),
        tx_hash=hash_of(log["transactionHash"]),
        block_number=quantity(log["blockNumber"]),
        block_hash=hash_of(log["blockHash"]),
    )


def _return(log: Mapping[str, Any]) -> LoggedReturn:
    return LoggedReturn(
        quantity(log["data"], MAX_UINT256),
        hash_of(log["transactionHash"]),
        quantity(log["blockNumber"]),
        hash_of(log["blockHash"]),
    )


def _address(word: bytes) -> str | None:
    """The address in a word; None if it is none of an EVM chain."""
    return evm_address("0x" + word[12:].hex()) if len(word) == WORD and not any(word[:12]) else None
