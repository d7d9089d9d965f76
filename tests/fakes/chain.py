"""A chain in memory: blocks with hashes, logs of the fee proxies, forks; implements `Chain`, EVM and Tron methods."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import BadGateway, ChainUnavailable
from chalicelib.base.keccak import keccak256
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.conversions.rates import PathRate
from chalicelib.chains.calldata.transaction import Call, SentTransaction, Transaction
from chalicelib.chains.catalogue.contracts import (
    ACROSS_SPOKE_POOL,
    ERC20_CONVERSION_PROXY,
    ERC20_FEE_PROXY,
    NATIVE_CONVERSION_PROXY,
    NATIVE_FEE_PROXY,
    address_of,
)
from chalicelib.chains.catalogue.escrows import EscrowContracts
from chalicelib.chains.catalogue.networks import network_of_chain
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.chains.nodes.accounts.balances import TokenReading, WalletReading
from chalicelib.chains.nodes.accounts.simulation import Simulation
from chalicelib.chains.nodes.bridges.deposits import LoggedFill, LoggedReturn, fills_in, sum_of_sent_tokens
from chalicelib.chains.nodes.bridges.fills import payments_of_fills
from chalicelib.chains.nodes.conversions.logs import CONVERSION_TOPIC
from chalicelib.chains.nodes.escrow.reads import EscrowState
from chalicelib.chains.nodes.history.block_headers import BlockLogs
from chalicelib.chains.nodes.history.full_blocks import LogFilter
from chalicelib.chains.nodes.history.log_ranges import (
    BlockPayments,
    BlockRefused,
    Disconnected,
    RangeReading,
    RangeTooLarge,
)
from chalicelib.chains.nodes.history.logs import (
    ERC20_TRANSFER_TOPIC,
    NATIVE_TRANSFER_TOPIC,
    TRANSFER_TOPIC,
    BlockFacts,
    BlockRange,
    Checkpoint,
)
from chalicelib.chains.nodes.history.receipts import BlockReceipts, PaidTransfer, PaymentSender
from chalicelib.chains.nodes.names.reads import Answer
from chalicelib.chains.nodes.plain_transfers.logs import PlainAddress, ends_of
from chalicelib.chains.nodes.readings import (
    AccountReading,
    PlainAddressState,
    Receipt,
    Sight,
    Sought,
    StepResult,
    TokenBalances,
    UsedNonce,
)
from chalicelib.chains.nodes.rpc.receipts import RawReceipts, logs_in
from chalicelib.chains.nodes.safes.reads import SafeEvent
from chalicelib.chains.nodes.tron import BroadcastResult
from chalicelib.chains.proofs.headers import Checked, Forged, Header, NotChecked
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.references import reference_topic
from infra.local import calls as aws_calls
from tests.fakes.mempool import Mempool
from tests.fakes.names import FakeNames
from tests.fakes.prices import FakePrices

FEE_ADDRESS = "0xC5fdf4076b8F3A5357c5E395ab970B5B54098Fef"
SENDER = "0x627306090abaB3A6e1400e9345bC60c78a8BEf57"
GENESIS = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Block:
    number: int
    hash: str
    time: datetime | None = None
    logs: list[dict[str, Any]] = field(default_factory=list)
    executed: list[tuple[str, SafeEvent]] = field(default_factory=list)


def transfers_behind(
    network: str, log: Mapping[str, Any], moved: Callable[[int], int] = lambda amount: amount
) -> list[dict[str, Any]]:
    """The Transfer logs behind the event of a proxy for tokens, to the payee and of the fee; none of other logs.

    They have the index of the event, as there is none free before it.
    """
    words = [log["data"][start : start + 64] for start in range(2, len(log["data"]), 64)]
    if log["topics"][0] != ERC20_TRANSFER_TOPIC or len(words) != 5:
        return []
    token, payee, amount, fee, fee_address = words
    ends = [(payee, int(amount, 16)), *([(fee_address, int(fee, 16))] if int(fee, 16) else [])]
    return [
        {
            **log,
            "address": "0x" + token[24:],
            "topics": [TRANSFER_TOPIC, "0x" + _word(SENDER), "0x" + receiver],
            "data": f"0x{moved(sent):064x}",
        }
        for receiver, sent in ends
        if moved(sent)
    ]


class FakeChain:
    """Blocks are mined by calls of `mine`. `fork` replaces the newest blocks by those of another branch.

    Their times are a second apart from `genesis` on; while `clock` is set, new blocks have its time instead. A test can
    make the node worse: it returns no headers of the blocks `without_headers`, no logs if `hides_logs`, and the logs of
    `full_blocks` only if one of them is asked for alone; its queries for logs list those in `forged`, too. Its headers
    cannot be checked unless `is_checkable`; they then have the blooms of all logs, and those in `bad_headers` are wrong.
    Of what the event of a proxy says the token has `moved` that much.
    """

    def __init__(self, network: str = "sepolia", seed: int = 0) -> None:
        self.network = network
        self.escrow: EscrowContracts | None = None
        self.escrow_states: dict[str, EscrowState] = {}
        self.plain_addresses: dict[tuple[str, str | None], PlainAddressState] = {}
        self.silent_tokens: set[str] = set()
        self._seed = seed
        self.blocks: list[Block] = []
        self.native_balance, self.gas_price, self.batch_fee_bps = 10**21, 10**9, 0
        self.holding = TokenReading(BaseUnits(10**15), BaseUnits(0))
        self.holdings: dict[str, TokenReading] = {}
        self.payers: dict[str, str] = {}
        self.filled: dict[str, int] = {}
        self.simulated: Simulation | None = None
        self.sent: list[bytes] = []
        self.refusal: BroadcastResult | None = None
        self.contracts: set[str] = set()
        self.names = FakeNames()
        self.transactions: dict[str, SentTransaction] = {}
        self.counts: dict[str, int] = {}
        self.flooding: set[str] = set()
        self.spans: list[int] = []
        self.genesis = GENESIS
        self.clock: Callable[[], datetime] | None = None
        self.refuses_reapproval = False
        self.signed: set[tuple[str, bytes, bytes]] = set()
        self.is_down = False
        self.lag = 0
        self.before_reading = lambda: None
        self.largest_range = self.largest_transfer_range = 10**9
        self.full_blocks: set[int] = set()
        self.without_headers: set[int] = set()
        self.hides_logs = False
        self.forged: list[dict[str, Any]] = []
        self.is_checkable = False
        self.bad_headers: set[int] = set()
        self.without_receipts: set[int] = set()
        self.prices: FakePrices | None = None
        self.moved: Callable[[int], int] = lambda amount: amount
        self._branch = 0
        self.mempool = Mempool(self)
        self.mine(10)

    def mine(self, count: int = 1) -> None:
        for _ in range(count):
            number = len(self.blocks)
            digest = hashlib.sha256(f"{self.network}/{self._seed}/{self._branch}/{number}".encode()).hexdigest()
            self.blocks.append(Block(number, "0x" + digest, self.clock() if self.clock else None))
            self.mempool.include()

    def pay(self, request: Request, amount: int | None = None, fee: int = 0, **altered: str) -> dict[str, Any]:
        """Mines a block with one log that pays the request; `altered` overrides proxy, token, payee or fee_address."""
        self.mine()
        return self.pay_too(request, amount, fee, **altered)

    def pay_too(self, request: Request, amount: int | None = None, fee: int = 0, **altered: str) -> dict[str, Any]:
        """Pays by another log in the newest block; all logs of a block are of one transaction."""
        token = token_with_id(request.currency)
        assert token is not None
        contract = NATIVE_FEE_PROXY if token.is_native else ERC20_FEE_PROXY
        words = [] if token.is_native else [_word(altered.get("token", token.address))]
        words += [
            _word(altered.get("payee", request.payee)),
            f"{request.amount if amount is None else amount:064x}",
            f"{fee:064x}",
            _word(altered.get("fee_address", FEE_ADDRESS)),
        ]
        block = self.blocks[-1]
        log = {
            "address": hex_address(altered.get("proxy", address_of(contract, self.network))),
            "topics": [
                NATIVE_TRANSFER_TOPIC if token.is_native else ERC20_TRANSFER_TOPIC,
                reference_topic(bytes.fromhex(request.payment_reference[2:])),
            ],
            "data": "0x" + "".join(words),
            "transactionHash": "0x" + hashlib.sha256(f"tx{block.hash}".encode()).hexdigest(),
            "logIndex": hex(len(block.logs)),
            "blockNumber": hex(block.number),
            "blockHash": block.hash,
        }
        block.logs.append(log)
        return log

    def convert(
        self, request: Request, moved: int, units: int | None = None, *, currency: str | None = None, age: int = 3600
    ) -> list[dict[str, Any]]:
        """Mines a block with the two logs of a conversion that pays the request: `moved` base units for `units` in the
        invoice currency (None: all that is asked for), which `currency` names by the id of another."""
        token, invoice = token_with_id(request.currency), token_with_id(currency or request.invoice_currency or "")
        assert token is not None and invoice is not None
        contract = NATIVE_CONVERSION_PROXY if token.is_native else ERC20_CONVERSION_PROXY
        first = self.pay(request, moved, proxy=address_of(contract, self.network))
        words = [f"{request.amount if units is None else units:064x}", _word(invoice.hash), "0" * 64, f"{age:064x}"]
        second = {
            **first,
            "topics": [CONVERSION_TOPIC, first["topics"][1]],
            "data": "0x" + "".join(words),
            "logIndex": hex(len(self.blocks[-1].logs)),
        }
        self.blocks[-1].logs.append(second)
        return [first, second]

    def fork(self, depth: int, moved_by: int | None = None) -> list[Block]:
        """Removes the newest `depth` blocks, mines as many on a new branch; returns the removed blocks.

        The new blocks are empty, or have the transactions of the removed ones, each `moved_by` blocks later.
        """
        dropped = self.blocks[-depth:]
        del self.blocks[-depth:]
        self._branch += 1
        self.mempool.reorganise(len(self.blocks))
        self.mine(depth + (moved_by or 0))
        for removed in dropped if moved_by is not None else ():
            block = self.blocks[removed.number + (moved_by or 0)]
            place = {"blockNumber": hex(block.number), "blockHash": block.hash}
            block.logs += [{**log, **place} for log in removed.logs]
        return dropped

    def restore(self, dropped: list[Block]) -> None:
        """Puts the removed blocks back in place of the new branch."""
        del self.blocks[dropped[0].number :]
        self.blocks += dropped
        self._branch += 1

    def head(self) -> int:
        self._read()
        return len(self.blocks) - 1

    def block_hashes(self, numbers: Sequence[int]) -> dict[int, str | None]:
        self._read()
        known = len(self.blocks) - self.lag
        return {n: self.blocks[n].hash if n < known and n not in self.without_headers else None for n in numbers}

    def read_range(
        self,
        blocks: BlockRange,
        after: Checkpoint | None,
        headers: Sequence[int] = (),
        again: BlockRange | None = None,
    ) -> RangeReading:
        self._read()
        self.before_reading()
        if blocks.last >= len(self.blocks) - self.lag:
            raise ChainUnavailable("lags behind")
        if after is not None and after.number >= len(self.blocks) - self.lag:
            raise ChainUnavailable("lags behind")
        if after is not None and self.blocks[after.number].hash != after.hash:
            raise Disconnected
        if blocks.last - blocks.first >= self.largest_range:
            refused = BlockRefused if blocks.first == blocks.last else RangeTooLarge
            raise refused("too many blocks")
        is_full = any(blocks.first <= each <= blocks.last for each in self.full_blocks)
        if is_full and blocks.first != blocks.last:
            raise RangeTooLarge("too many logs")
        last, checked = self._facts(blocks.last), tuple(map(self._header, headers))
        return RangeReading(self._listed(blocks), last, is_full, checked, again and self._listed(again))

    def _listed(self, blocks: BlockRange) -> tuple[Mapping[str, Any], ...]:
        logs = [log for block in self.blocks[blocks.first : blocks.last + 1] for log in block.logs]
        logs += [log for log in self.forged if blocks.first <= int(log["blockNumber"], 16) <= blocks.last]
        return () if self.hides_logs else tuple(logs)

    def read_payments(self, wanted: Mapping[int, Sequence[LogFilter]]) -> dict[int, BlockPayments]:
        """What the node lists of these blocks, with the Transfers of the tokens that are wanted."""
        self._read()
        return self._read_blocks(wanted)

    def read_transfers(self, wanted: Mapping[int, Sequence[LogFilter]]) -> dict[int, BlockPayments]:
        self._read()
        found = self._read_blocks(wanted)
        if len(found) < len(wanted):
            raise ChainUnavailable("lags behind")
        return {number: replace(each, logs=()) for number, each in found.items()}

    def _read_blocks(self, wanted: Mapping[int, Sequence[LogFilter]]) -> dict[int, BlockPayments]:
        found = dict[int, BlockPayments]()
        for number, filters in wanted.items():
            if number < len(self.blocks) - self.lag and number not in self.without_headers:
                forged = (log for log in self.forged if int(log["blockNumber"], 16) == number)
                logs = () if self.hides_logs else (*self.blocks[number].logs, *forged)
                transfers = (each for log in logs for each in transfers_behind(self.network, log, self.moved))
                taken = tuple(each for each in transfers if any(of.takes(each) for of in filters))
                found[number] = BlockPayments(self._facts(number), logs, taken)
        return found

    def _with_transfers(self, logs: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
        """The logs, with the Transfers behind the events of proxies, of what the tokens have `moved`."""
        return tuple(each for log in logs for each in (*transfers_behind(self.network, log, self.moved), log))

    def read_plain_transfers(
        self, blocks: BlockRange, addresses: Collection[PlainAddress]
    ) -> tuple[Mapping[str, Any], ...]:
        self._read()
        if blocks.last >= len(self.blocks) - self.lag:
            raise ChainUnavailable("lags behind")
        if blocks.count > self.largest_transfer_range:
            raise RangeTooLarge("too many transfers")
        known, tokens = {each.address for each in addresses}, {each.token_address for each in addresses}
        logs = (log for block in self.blocks[blocks.first : blocks.last + 1] for log in block.logs)
        sent = ((log, ends_of(log)) for log in logs if log["address"] in tokens)
        return tuple(log for log, ends in sent if ends is not None and ends[1] in known)

    def read_plain_address(self, address: str, token: str | None) -> PlainAddressState:
        """As a test has set it by address and token; nothing is at others."""
        self._read()
        return self.plain_addresses.get((address, token), PlainAddressState(BaseUnits(0), False, True))

    def read_plain_balances(self, addresses: Sequence[PlainAddress], block: int) -> tuple[BaseUnits | None, ...]:
        """What a test has set as `read_plain_address`, whatever the block; None of a token that is `silent_tokens`."""
        self._read()
        if block >= len(self.blocks) - self.lag:
            raise ChainUnavailable("lags behind")
        known = {(address.lower(), (token or "").lower()): each.balance for (address, token), each in self.plain_addresses.items()}
        return tuple(
            None if each.token_address in self.silent_tokens else known.get((each.address, each.token_address), BaseUnits(0))
            for each in addresses
        )

    def read_headers(self, numbers: Sequence[int]) -> tuple[Checked, ...]:
        self._read()
        return tuple(map(self._header, numbers))

    def _header(self, number: int) -> Checked:
        if not self.is_checkable or number in self.without_headers or number >= len(self.blocks) - self.lag:
            return NotChecked(number, "a test says so")
        if number in self.bad_headers:
            return Forged(number)
        block = self.blocks[number]
        parent = self.blocks[number - 1].hash if number else "0x" + "00" * 32
        bloom = 0
        for value in (value for log in block.logs for value in (log["address"], *log["topics"])):
            digest = keccak256(bytes.fromhex(value[2:]))
            for at in (0, 2, 4):
                bloom |= 1 << (int.from_bytes(digest[at : at + 2], "big") & 2047)
        return Header(number, block.hash, parent, b"", bloom.to_bytes(256, "big"))

    def read_block_logs(self, header: Header, keep: Callable[[Mapping[str, Any]], bool]) -> BlockLogs:
        """The logs of the block to be kept; those of blocks `without_receipts` do not have the root."""
        self._read()
        logs = self._with_transfers(self.blocks[header.number].logs)
        return BlockLogs(tuple(filter(keep, logs)), header.number not in self.without_receipts)

    def read_escrow(self, payment_hashes: Sequence[str], block: int | None = None) -> tuple[EscrowState, ...]:
        """As a test has set them; payments that nobody has paid otherwise."""
        self._read()
        unpaid = EscrowState(False, BaseUnits(0), BaseUnits(0), False)
        return tuple(self.escrow_states.get(each, unpaid) for each in payment_hashes)

    def block_facts(self, numbers: Sequence[int]) -> dict[int, BlockFacts]:
        """Returns the hashes and times of blocks."""
        self._read()
        if any(n >= len(self.blocks) - self.lag or n in self.without_headers for n in numbers):
            raise ChainUnavailable("lags behind")
        return {n: self._facts(n) for n in numbers}

    def _facts(self, number: int) -> BlockFacts:
        block = self.blocks[number]
        return BlockFacts(block.hash, block.time or self.genesis + timedelta(seconds=number))

    def find_receipts(self, tx_hashes: Sequence[str]) -> RawReceipts:
        self._read()
        wanted = {"0x" + each.removeprefix("0x") for each in tx_hashes}
        logs = [log for block in self.blocks for log in block.logs if log["transactionHash"] in wanted]
        return by_transaction(tx_hashes, self._with_transfers(logs))

    def read_wallet(
        self,
        wallet: str,
        tokens: Sequence[str],
        spender: str,
        *,
        batch_fee: bool = False,
        code_of: str | None = None,
    ) -> WalletReading:
        """Returns the same balances for every wallet: `holdings` by token address, else `holding`."""
        self._read()
        return WalletReading(
            BaseUnits(self.native_balance),
            {token: self.holdings.get(token, self.holding) for token in tokens},
            BaseUnits(self.gas_price),
            self.batch_fee_bps if batch_fee else 0,
            code_of in self.contracts,
        )

    def read_funds(self, wanted: Sequence[tuple[str, str, str]]) -> tuple[TokenReading, ...]:
        return tuple(self.read_wallet(wallet, [token], spender).tokens[token] for wallet, token, spender in wanted)

    def read_batch_fee(self) -> int:
        self._read()
        return self.batch_fee_bps

    def simulate(self, sent: Sequence[tuple[str, Transaction]]) -> Simulation:
        """Returns `simulated` if a test has set it; else every transaction succeeds."""
        self._read()
        return self.simulated or Simulation("eth_simulateV1", tuple(StepResult(True, None, 50_000) for _ in sent))

    def read_receipts(self, number: int, tx_hashes: Sequence[str]) -> BlockReceipts:
        self._read()
        if number >= len(self.blocks) - self.lag:
            raise ChainUnavailable("lags behind")
        block = self.blocks[number]
        wanted = {each: "0x" + each.removeprefix("0x") for each in tx_hashes}
        logs = {
            each: tuple(log for log in block.logs if log["transactionHash"] == full) for each, full in wanted.items()
        }
        return BlockReceipts(block.hash, {each: self._with_transfers(found) for each, found in logs.items()})

    def payers_of(
        self, payments: Sequence[PaidTransfer], read: RawReceipts | None = None
    ) -> tuple[PaymentSender | None, ...]:
        """Returns the payers in `payers`, {transaction hash: address}; each is a wallet unless it is in `contracts`."""
        known = read or {}
        unread = [each.tx_hash for each in payments if each.tx_hash not in known]
        receipts = {**known, **(self.find_receipts(unread) if unread else {})}
        return tuple(self._payer_of(each, logs_in({"": receipts[each.tx_hash]})) for each in payments)

    def _payer_of(self, paid: PaidTransfer, logs: Sequence[Mapping[str, Any]]) -> PaymentSender | None:
        for each in payments_of_fills(self.network, logs) if fills_in(self.network, logs) else ():
            if each.payment.event_key == paid.event_key:
                origin = network_of_chain(each.fill.origin_chain_id)
                assert each.fill.depositor is not None and origin is not None
                return PaymentSender(
                    each.fill.depositor, is_wallet=False, bridged_from=origin.name, fill_key=each.fill.key
                )
        address = self.payers.get("0x" + paid.tx_hash.removeprefix("0x"))
        return None if address is None else PaymentSender(address, address not in self.contracts)

    def fills(self, origin_chain_id: int, deposit_id: int, blocks: BlockRange) -> tuple[LoggedFill, ...]:
        found = fills_in(self.network, self._logs_in(blocks))
        return tuple(each for each in found if (each.origin_chain_id, each.deposit_id) == (origin_chain_id, deposit_id))

    def returns(self, token: str, depositor: str, least: int, blocks: BlockRange) -> tuple[LoggedReturn, ...]:
        pool = address_of(ACROSS_SPOKE_POOL, self.network)
        sent = ((log, sum_of_sent_tokens([log], token, pool, depositor)) for log in self._logs_in(blocks))
        return tuple(
            LoggedReturn(amount, log["transactionHash"], int(log["blockNumber"], 16), log["blockHash"])
            for log, amount in sent
            if amount >= max(least, 1)
        )

    def fill_status(self, relay_hash: str, block: int) -> int:
        """Returns 2 from the block on in `filled`, {relay hash: block}."""
        self._read()
        filled = self.filled.get(relay_hash)
        return 2 if filled is not None and filled <= block else 0

    def _logs_in(self, blocks: BlockRange) -> list[dict[str, Any]]:
        self._read()
        self.spans.append(blocks.last - blocks.first + 1)
        if self.spans[-1] > self.largest_range:
            raise RangeTooLarge("too many blocks")
        if blocks.last >= len(self.blocks) - self.lag:
            raise ChainUnavailable("lags behind")
        found = [log for block in self.blocks[blocks.first : blocks.last + 1] for log in block.logs]
        return [] if self.hides_logs else found

    def send(self, request: Request, nonce: int = 0, **altered: Any) -> str:
        """Puts a transaction that pays the request among those that wait for a block; returns its hash."""
        tx_hash = "0x" + hashlib.sha256(f"{request.payment_reference}/{nonce}/{altered}".encode()).hexdigest()
        data = "0xc219a14d" + request.payment_reference[2:].ljust(64, "0")
        paying = SentTransaction(SENDER, address_of(ERC20_FEE_PROXY, self.network), data, nonce)
        self.transactions[tx_hash] = replace(paying, **altered)
        return tx_hash

    def include(self, tx_hash: str, success: bool = True) -> None:
        """Mines a block with a transaction that was sent; its events are those of `pay`."""
        self.mine()
        place = {"block": len(self.blocks) - 1, "block_hash": self.blocks[-1].hash}
        transaction = replace(self.transactions[tx_hash], success=success, **place)
        self.transactions[tx_hash] = transaction

    def sent_transaction(self, tx_hash: str) -> SentTransaction | None:
        self._read()
        return self.transactions.get(tx_hash)

    def transaction_count(self, address: str, block: int) -> int:
        """Returns how many transactions of the address a test has mined."""
        self._read()
        return self.counts.get(address, 0) + self.mempool.nonce(address, block)

    def read_account(self, address: str) -> AccountReading:
        self._read()
        return self.mempool.read_account(address)

    def run_each(self, sender: str, wanted: Sequence[tuple[Transaction, int]]) -> tuple[StepResult, ...]:
        self._read()
        return self.mempool.run_each(sender, wanted)

    def run_as_sent(self, sender: str, each: Transaction, gas: int, max_fee: int, tip: int) -> StepResult:
        self._read()
        return self.mempool.run_as_sent(sender, each, gas, max_fee, tip)

    def send_raw(self, signed: Sequence[str]) -> tuple[str | None, ...]:
        self._read()
        return self.mempool.send_raw(signed)

    def receipts_of(self, tx_hashes: Sequence[str]) -> dict[str, Receipt]:
        self._read()
        return self.mempool.receipts_of(tx_hashes)

    def sights(self, sought: Sequence[Sought]) -> tuple[Sight, ...]:
        self._read()
        return self.mempool.sights(sought)

    def used_nonces(self, sender: str, numbers: Sequence[int], blocks: BlockRange) -> tuple[UsedNonce, ...]:
        self._read()
        return self.mempool.used_nonces(sender, numbers, blocks)

    def token_balances(self, account: str, tokens: Sequence[str]) -> TokenBalances:
        self._read()
        return self.mempool.token_balances(account, tokens)

    def replayed(self, sender: str, each: Transaction, gas: int, block: int) -> StepResult:
        return self.mempool.replayed(each)

    def safe_nonce(self, safe: str, block: int) -> int:
        """Returns how many of the Safe's transactions are in the blocks up to `block`."""
        self._read()
        return sum(of == safe for each in self.blocks[: block + 1] for of, _ in each.executed)

    def execute_safe(self, safe: str, safe_tx_hash: str, success: bool = True) -> SafeEvent:
        """Mines a block in which the Safe executes a transaction; the nonce increases also if the transaction fails."""
        self.mine()
        block = self.blocks[-1]
        tx_hash = "0x" + hashlib.sha256(f"safe{block.hash}".encode()).hexdigest()
        event = SafeEvent(safe_tx_hash, success, block.number, block.hash, tx_hash)
        block.executed.append((safe, event))
        return event

    def safe_event(self, safe: str, safe_tx_hash: str, blocks: BlockRange) -> SafeEvent | None:
        """Returns the event of a transaction; for contracts in `flooding` every range is too large."""
        self._read()
        self.spans.append(blocks.last - blocks.first + 1)
        if self.spans[-1] > self.largest_range or safe in self.flooding:
            raise RangeTooLarge("too many blocks or events")
        if blocks.last >= len(self.blocks) - self.lag:
            raise ChainUnavailable("lags behind")
        executed = (each for block in self.blocks[blocks.first : blocks.last + 1] for each in block.executed)
        return next((event for of, event in executed if (of, event.safe_tx_hash) == (safe, safe_tx_hash)), None)

    def read_conversion_rates(
        self, paths: Sequence[tuple[str, ...]], block: int | None = None
    ) -> tuple[PathRate | None, ...]:
        """Returns the rates of `prices`, those of now for every block."""
        self._read()
        return tuple(self.prices.path_rate(self.network, path) if self.prices else None for path in paths)

    def read_past_conversion_rate(self, path: tuple[str, ...], instant: datetime) -> PathRate | None:
        self._read()
        return self.prices.path_rate(self.network, path, instant) if self.prices else None

    def broadcast(self, signed: bytes) -> BroadcastResult:
        """On tron: appends the bytes to `sent` and returns `refusal`, or accepts with an id that is not a real one."""
        if self.is_down:
            raise BadGateway("The Tron node did not answer")
        self.sent.append(signed)
        return self.refusal or BroadcastResult(True, hashlib.sha256(signed).hexdigest(), "SUCCESS", "")

    def has_code(self, address: str) -> bool:
        self._read()
        return address in self.contracts

    def is_contract(self, address: str) -> bool:
        return self.has_code(address)

    def ask(self, read: Call) -> Answer:
        self._read()
        return self.names.ask(read)

    def read_codes(self, *addresses: str) -> tuple[bytes, ...]:
        self._read()
        return tuple(b"\xfe" if each in self.contracts else b"" for each in addresses)

    def which_revert(self, sender: str, calls: Sequence[Transaction]) -> tuple[bool, ...]:
        self._read()
        return (self.refuses_reapproval,) * len(calls)

    def is_valid_signature(self, address: str, digest: bytes, signature: bytes) -> bool:
        """Returns whether a test has put the signature into `signed`."""
        self._read()
        return (address, digest, signature) in self.signed

    def _read(self) -> None:
        if self.is_down:
            raise ChainUnavailable(f"The {self.network} node does not answer")


def by_transaction(tx_hashes: Sequence[str], logs: Sequence[Mapping[str, Any]]) -> RawReceipts:
    """The receipts of transactions with the logs that are theirs; None of one that has none."""
    found = dict[str, list[Mapping[str, Any]]]()
    for log in logs:
        found.setdefault(log["transactionHash"], []).append(log)
    return {
        each: {"transactionHash": full, "logs": found[full]} if full in found else None
        for each, full in ((each, "0x" + each.removeprefix("0x")) for each in tx_hashes)
    }


class FakeChains:
    def __init__(self, *chains: FakeChain) -> None:
        self._chains = {chain.network: chain for chain in chains}

    @property
    def networks(self) -> tuple[str, ...]:
        aws_calls.record_call("secretsmanager:GetSecretValue", "rpc-urls")
        return tuple(self._chains)

    def add(self, chain: FakeChain) -> None:
        """Serves another network, unless it is served."""
        self._chains.setdefault(chain.network, chain)

    def of(self, network: str) -> FakeChain:
        aws_calls.record_call("secretsmanager:GetSecretValue", "rpc-urls")
        if network not in self._chains:
            raise ChainUnavailable(f"This deployment has no node for {network}")
        return self._chains[network]

    def evm(self, network: str) -> FakeChain:
        return self.of(network)

    def tron(self) -> FakeChain:
        return self.of("tron")


def _word(address: str) -> str:
    return hex_address(address)[2:].rjust(64, "0")
