"""Tron's node, a TronGrid or java-tron base URL: JSON-RPC at /jsonrpc for reading, its own API for the rest.

What differs from EVM nodes: one call per request; addresses are 20-byte hex towards the node and base58 towards
callers, except in logs, which stay as the node gives them; only the newest state can be asked for; and a block is final
once it is solidified (19 of 27 representatives built on it), so that `head` is the newest solidified block.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from chalicelib.base.addresses import address_bytes, hex_address, tron_address_of
from chalicelib.base.errors import BadGateway, ChainUnavailable
from chalicelib.base.signatures import recover_digest
from chalicelib.calldata import erc20
from chalicelib.calldata.abi import WORD
from chalicelib.calldata.reverts import printable, revert_reason
from chalicelib.calldata.transaction import Transaction
from chalicelib.chain import simulation
from chalicelib.chain.evm import EvmChain, WalletReading, wallet_reading
from chalicelib.chain.jsonrpc import CONNECT_SECONDS, READ_SECONDS, Question, TooSlow, asks, results
from chalicelib.chain.simulation import Simulation, StepResult

_LONGEST_CODE = 64
_CONTRACT_FAILED = ("CONTRACT_VALIDATE_ERROR", "CONTRACT_EXE_ERROR")
"""How java-tron says that a call cannot be run, as when there is no contract, and not that the node failed."""


@dataclass(frozen=True)
class BroadcastResult:
    """What the node says to a signed transaction: `code` is SUCCESS or java-tron's name for the refusal (SIGERROR,
    TRANSACTION_EXPIRATION_ERROR, DUP_TRANSACTION_ERROR ...), `message` its text, one printable line."""

    result: bool
    txid: str
    code: str
    message: str


class TronChain(EvmChain):
    """The node of tron. What EvmChain says holds; there is no Multicall3 and no Safe here."""

    def __init__(self, network: str, url: str, api_key: str | None = None) -> None:
        super().__init__(network, url)
        self._headers = {"TRON-PRO-API-KEY": api_key} if api_key else {}

    @asks
    def read_wallet(
        self, wallet: str, tokens: Sequence[str], spender: str, *, batch_fee: bool = False
    ) -> WalletReading:
        """Balance in sun and the tokens' readings, one request each; the gas price is that of energy, in sun.

        The batch contract of tron takes no fee of its own.
        """
        reads: list[Question] = [("eth_getBalance", [self._hex(wallet), "latest"]), ("eth_gasPrice", [])]
        for token in tokens:
            reads += [self._call(erc20.balance_of(token, wallet)), self._call(erc20.allowance(token, wallet, spender))]
        balance, energy_price, *held = self._batch(reads)
        return wallet_reading(tokens, [int(balance, 16), *map(_uint, held)], int(energy_price, 16), 0)

    @asks
    def read_batch_fee(self) -> int:
        """None is taken by the batch contract of tron."""
        return 0

    @asks
    def would_revert(self, sender: str, to: str, data: str) -> bool:
        """Whether a constant call says that this call fails now: java-tron's eth_call may not tell."""
        return self._constant_call(sender, Transaction(to, data, 0)).success is False

    @asks
    def is_valid_signature(self, address: str, digest: bytes, signature: bytes) -> bool:
        """Whether the address signed 32 bytes; contract wallets are not asked on tron."""
        signer = recover_digest(digest, signature)
        return signer is not None and address_bytes(signer) == address_bytes(address)

    @asks
    def simulate(self, sent: Sequence[tuple[str, Transaction]]) -> Simulation:
        """The first transaction, by a constant call, with the energy it would use; the node runs none after another."""
        rest = (StepResult(None, simulation.UNKNOWN_STEP) for _ in sent[1:])
        return Simulation("triggerconstantcontract", (self._constant_call(*sent[0]), *rest))

    @asks
    def head(self) -> int:
        """The newest solidified block's number. Raises ChainUnavailable also when the node is of another chain."""
        (chain_id,) = self._batch([("eth_chainId", [])])
        self._check_chain(chain_id)
        block = self._post("/walletsolidity/getnowblock", {})
        number: int = block["block_header"]["raw_data"].get("number", 0)  # protobuf's JSON leaves zeros out
        if not isinstance(number, int):
            raise TypeError("a block number is an integer")
        return number

    def broadcast(self, signed: bytes) -> BroadcastResult:
        """Hands a signed transaction to the network. Raises BadGateway when nobody can say what became of it."""
        try:
            answer = self._post("/wallet/broadcasthex", {"transaction": signed.hex()})
        except ChainUnavailable as error:
            message = "The Tron node did not answer; the transaction may have been sent: look it up before sending anew"
            raise BadGateway(message) from error
        if not isinstance(answer, dict) or not ({"result", "code", "Error"} & answer.keys()):
            raise BadGateway("The Tron node gave no answer to the transaction: look it up before sending anew")
        accepted = answer.get("result") is True
        code = str(answer.get("code") or ("SUCCESS" if accepted else "OTHER_ERROR"))
        txid, code = (printable(text)[:_LONGEST_CODE] for text in (str(answer.get("txid", "")), code))
        return BroadcastResult(accepted, txid, code, _message(answer.get("message") or answer.get("Error")))

    def _constant_call(self, sender: str, transaction: Transaction) -> StepResult:
        """One transaction run on the newest state without being sent."""
        asked: dict[str, Any] = {
            "owner_address": "41" + address_bytes(sender).hex(),
            "contract_address": "41" + address_bytes(transaction.to).hex(),
            "data": transaction.data.removeprefix("0x"),
        }
        if transaction.value:
            asked["call_value"] = transaction.value
        answer = self._post("/wallet/triggerconstantcontract", asked)
        energy = answer.get("energy_used")
        gas = energy if isinstance(energy, int) else None
        told: Mapping[str, Any] = answer["result"]
        if told.get("result") is not True:
            if told.get("code") not in _CONTRACT_FAILED:
                raise ChainUnavailable(f"The {self.network} node refused a constant call")
            return StepResult(False, _message(told.get("message")) or revert_reason(b""), None)
        returned = bytes.fromhex("".join(answer.get("constant_result", ())))
        if any(ret.get("ret") == "FAILED" for ret in answer["transaction"].get("ret", ())):
            return StepResult(False, revert_reason(returned), gas)
        return StepResult(True, None, gas)

    def _hex(self, address: str) -> str:
        return hex_address(address)

    def _text(self, raw: bytes) -> str:
        return tron_address_of(raw)

    def _each(self, calls: Sequence[Question]) -> list[Any]:
        """The results of the calls, asked one by one: hosted nodes refuse JSON-RPC batches."""
        each: list[Any] = []
        for method, params in calls:
            asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            each += results(self.network, self._post("/jsonrpc", asked), 1)
        return each

    @cached_property
    def _session(self) -> Any:
        from requests import Session

        session = Session()
        session.headers.update(self._headers)
        return session

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON that the node answers. Raises ChainUnavailable."""
        from requests import ReadTimeout, RequestException

        try:
            answer = self._session.post(self._url + path, json=body, timeout=(CONNECT_SECONDS, READ_SECONDS))
            answer.raise_for_status()
            return answer.json()
        except ReadTimeout as error:
            raise TooSlow(f"The {self.network} node takes too long") from error
        except (RequestException, ValueError, RecursionError) as error:
            raise ChainUnavailable(f"The {self.network} node does not answer") from error


def _uint(answer: str) -> int:
    """The uint256 of a constant call. Older nodes give what a failed call returned as if it were a result: its length
    is another one."""
    raw = bytes.fromhex(answer.removeprefix("0x"))
    if len(raw) != WORD:
        raise ValueError("the contract did not answer with one number")
    return int.from_bytes(raw, "big")


def _message(text: Any) -> str:
    """A message of java-tron, which is plain in some answers and the hex of its bytes in others."""
    plain = str(text or "")
    with suppress(ValueError):
        plain = bytes.fromhex(plain).decode()
    return printable(plain)
