"""A local chain: anvil under a production chain id, the real contracts at their production addresses.

Tron's, too: the same contracts at the 20 bytes of their addresses there, balances in sun and gas for nothing;
infra/local/tron.py is the node in front of it.
"""

import itertools
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from chalicelib.base.addresses import address_bytes
from chalicelib.base.keccak import keccak256
from chalicelib.catalogue.contracts import BATCH, address_of
from chalicelib.catalogue.networks import network as network_named
from chalicelib.catalogue.tokens import find_tokens
from infra.local.bytecode import DEPLOYER, Artefact, anvil, artefacts
from infra.local.process import LOCAL, Child, StackProblem, free_port, is_free

STATE_SECONDS = 2
_BACKUP_SECONDS = 10
_STATES_IN_MEMORY = 500
_STATE_END = b'"historical_states":null}'
_COPIED_SLOTS = 12
_BALANCES_SLOT = 0  # of TestERC20
_TRANSFER_GAS_MARGIN = 1.2
_GAS = 10_000_000


class RpcError(Exception):
    """The node's error object as it came."""


class Chain:
    """A running chain. Use as a context manager or call `stop`.

    Without `block_time` a block is mined for every transaction; with it, every so many seconds.
    With `state` (a file) blocks, logs, receipts and balances survive a restart.
    """

    def __init__(self, network: str, child: Child, port: int, state: Path | None, scratch: Path) -> None:
        self.network, self.child, self.url = network, child, f"http://127.0.0.1:{port}"
        self._scratch = scratch
        self._ids, self._session = itertools.count(1), threading.local()
        self._stopped = threading.Event()
        if state:
            threading.Thread(target=self._keep_backup, args=(state,), daemon=True).start()

    @classmethod
    def start(
        cls,
        network: str,
        port: int | None = None,
        state: Path | None = None,
        block_time: int | None = None,
        log: Path | None = None,
        held: Sequence[int] = (),
    ) -> Self:
        """Start anvil for that network and put the contracts in place, unless its state already has them.

        Raises StackProblem when the port is taken or anvil does not start.
        """
        chain = network_named(network)
        if chain is None:
            raise StackProblem(f"{network} is not a network")
        if port is not None and not is_free(port):
            raise StackProblem(f"port {port} of the {network} chain is already in use")
        port = port or free_port()
        command = [anvil(), "--port", str(port), "--chain-id", str(chain.chain_id), "--quiet"]
        command += ["--prune-history", str(_STATES_IN_MEMORY)]  # older ones would pile up in the home directory
        if chain.family == "tron":
            command += ["--base-fee", "0", "--gas-price", "0"]
        if block_time:
            command += ["--block-time", str(block_time)]
        if state:
            state.parent.mkdir(parents=True, exist_ok=True)
            _heal(state)
            command += ["--state", str(state), "--state-interval", str(STATE_SECONDS)]
        scratch = LOCAL / "tmp" / f"chain-{port}.log"
        child = Child(f"the {network} chain", command, log or scratch, held=held, scratch=None if log else scratch)
        running = cls(network, child, port, state, scratch)
        with child.starting():
            child.wait_until(running._answers)
            running._etch(artefacts(network))
        return running

    # --- asking ---

    def rpc(self, method: str, *params: Any) -> Any:
        """One JSON-RPC call. Raises RpcError with the node's error object."""
        return self.batch([(method, *params)])[0]

    def batch(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Several calls in one request, answered in order; the first error is raised."""
        requests = [
            {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params} for method, *params in calls
        ]
        answer = self._post(requests)
        by_id = {entry["id"]: entry for entry in answer}
        answers = [by_id[request["id"]] for request in requests]
        for entry in answers:
            if "error" in entry:
                raise RpcError(entry["error"])
        return [entry["result"] for entry in answers]

    def token_balance(self, token: str, holder: str) -> int:
        """balanceOf, in base units."""
        data = "0x70a08231" + address_bytes(holder).rjust(32, b"\0").hex()
        return int(self.rpc("eth_call", {"to": _hex_address(token), "data": data}, "latest"), 16)

    def native_balance(self, holder: str) -> int:
        """In wei; on tron in sun."""
        return int(self.rpc("eth_getBalance", _hex_address(holder), "latest"), 16)

    # --- changing ---

    def send(self, transaction: Mapping[str, Any], private_key: str) -> dict[str, Any]:
        """Sign and broadcast {to, data, value} (value: int or hex text), wait for its block, return the receipt.

        Nonce, gas (estimated) and EIP-1559 fees are filled in where absent. A receipt may say that it reverted;
        a transaction whose estimate reverts raises RpcError.
        """
        from eth_account import Account

        sender = Account.from_key(private_key).address
        filled = {key: value for key, value in transaction.items() if key in ("to", "data", "nonce", "gas")}
        filled["value"] = int(_hex(transaction.get("value", 0)), 16)
        call = {
            "from": sender,
            "to": filled["to"],
            "data": filled.get("data", "0x"),
            "value": hex(filled["value"]),
        }
        if "nonce" not in filled:
            filled["nonce"] = int(self.rpc("eth_getTransactionCount", sender, "pending"), 16)
        if "gas" not in filled:
            filled["gas"] = int(int(self.rpc("eth_estimateGas", call), 16) * _TRANSFER_GAS_MARGIN)
        price = int(self.rpc("eth_gasPrice"), 16)
        filled |= {
            "chainId": self.chain_id,
            "maxFeePerGas": 2 * price,
            "maxPriorityFeePerGas": min(price, 10**9),
        }
        to = bytes.fromhex(filled["to"][2:])  # as text it would have to be checksummed
        signed = Account.sign_transaction({**filled, "to": to}, private_key)
        return self.receipt(self.rpc("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex()))

    def receipt(self, transaction_hash: str, seconds: float = 60) -> dict[str, Any]:
        """The receipt once the transaction is in a block. Raises StackProblem when that takes too long."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found: dict[str, Any] | None = self.rpc("eth_getTransactionReceipt", transaction_hash)
            if found is not None:
                return found
            time.sleep(0.05)
        raise StackProblem(f"{transaction_hash} was not mined on {self.network} within {seconds:.0f} s")

    def fund_native(self, holder: str, wei: int) -> None:
        """Set a balance; no transaction, no block."""
        self.rpc("anvil_setBalance", _hex_address(holder), hex(wei))

    def fund_token(self, holder: str, token: str, amount: int) -> None:
        """Set a balance of one of the etched tokens, in base units, by its storage slot."""
        self.rpc(*_token_funds(holder, token, amount))

    def fund(self, holder: str, whole: int) -> None:
        """So many coins and so many of every token of the network's catalogue; no transaction, no block."""
        tokens = [token for token in find_tokens(network=self.network) if not token.is_native]
        funds = [_token_funds(holder, token.address, whole * 10**token.decimals) for token in tokens]
        self.batch([("anvil_setBalance", _hex_address(holder), hex(whole * self.coin)), *funds])

    def set_batch_fee(self, basis_points: int) -> None:
        """As the owner of the batch contract does it: a share of every payment, to its fee address on top."""
        data = f"0xf4d08412{basis_points:064x}"
        self.receipt(self.send_as(DEPLOYER, {"to": address_of(BATCH, self.network), "data": data}))

    def send_as(self, sender: str, transaction: Mapping[str, Any], gas: int = _GAS) -> str:
        """Broadcast {to, data, value} of any sender, without a signature; the transaction's hash."""
        call = {"from": sender, "gas": hex(gas), "to": transaction["to"], "data": transaction.get("data", "0x")}
        call["value"] = _hex(transaction.get("value", 0))
        if self.network == "tron":
            call["gasPrice"] = "0x0"
        self.rpc("anvil_impersonateAccount", sender)
        return str(self.rpc("eth_sendTransaction", call))

    def mine(self, blocks: int = 1) -> None:
        self.rpc("anvil_mine", hex(blocks))

    def snapshot(self) -> str:
        """Remember the whole state; the id is good for one `revert`."""
        return str(self.rpc("evm_snapshot"))

    def revert(self, snapshot: str) -> None:
        """Go back to a snapshot: later blocks are gone, as in a reorganisation down to it."""
        if not self.rpc("evm_revert", snapshot):
            raise StackProblem(f"the {self.network} chain has no snapshot {snapshot}")

    def deploy(self, creation: str) -> str:
        """Deploy creation code (hex, arguments appended) from anvil's first account; the address."""
        sent = self.rpc("eth_sendTransaction", {"from": DEPLOYER, "data": creation, "gas": hex(_GAS)})
        self.mine()
        return str(self.receipt(sent)["contractAddress"])

    def etch(self, creation: str, addresses: Sequence[str]) -> None:
        """Put a contract at chosen addresses: its runtime code, and what its constructor wrote to the first slots."""
        model = self.deploy(creation)
        slots = [f"0x{slot:064x}" for slot in range(_COPIED_SLOTS)]
        code, *values = self.batch(
            [
                ("eth_getCode", model, "latest"),
                *(("eth_getStorageAt", model, slot, "latest") for slot in slots),
            ]
        )
        changes: list[tuple[Any, ...]] = []
        for address in addresses:
            changes.append(("anvil_setCode", address, code))
            for slot, value in zip(slots, values, strict=True):
                if int(value, 16):
                    changes.append(("anvil_setStorageAt", address, slot, value))
        self.batch(changes)

    # --- life ---

    @property
    def chain_id(self) -> int:
        chain = network_named(self.network)
        assert chain
        return chain.chain_id

    @property
    def coin(self) -> int:
        """Base units of one native coin."""
        return 10**6 if self.network == "tron" else 10**18

    def stop(self) -> None:
        """End it; with a state file, everything up to now is in it."""
        self._stopped.set()
        self.child.stop()
        self._scratch.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _etch(self, wanted: Sequence[Artefact]) -> None:
        addresses = [address for artefact in wanted for address in artefact.addresses]
        codes = self.batch([("eth_getCode", address, "latest") for address in addresses])
        bare = {address for address, code in zip(addresses, codes, strict=True) if code == "0x"}
        for artefact in wanted:
            missing = [address for address in artefact.addresses if address in bare]
            if missing:
                self.etch(artefact.creation, missing)

    def _answers(self) -> bool:
        import requests

        try:
            return int(self.rpc("eth_chainId"), 16) == self.chain_id and self.child.running()
        except (requests.RequestException, RpcError):
            return False

    def _post(self, body: list[dict[str, Any]]) -> list[dict[str, Any]]:
        import requests

        session = getattr(self._session, "value", None)
        if session is None:
            session = self._session.value = requests.Session()
            session.trust_env = False  # a proxy of the environment is not for this address
        answer = session.post(self.url, json=body, timeout=60).json()
        return answer if isinstance(answer, list) else [answer]

    def _keep_backup(self, state: Path) -> None:
        while not self._stopped.wait(_BACKUP_SECONDS):
            _back_up(state)


def _token_funds(holder: str, token: str, amount: int) -> tuple[str, ...]:
    """The call that writes a balance of TestERC20 to its slot."""
    slot = keccak256(address_bytes(holder).rjust(32, b"\0") + _BALANCES_SLOT.to_bytes(32))
    return "anvil_setStorageAt", _hex_address(token), "0x" + slot.hex(), f"0x{amount:064x}"


def _hex_address(address: str) -> str:
    """Of either family, as the node wants it."""
    return "0x" + address_bytes(address).hex()


def _hex(value: int | str) -> str:
    """A transaction's value: an int, or hex text already."""
    return value if isinstance(value, str) else hex(value)


def _backup_of(state: Path) -> Path:
    return state.with_suffix(".backup.json")


def _heal(state: Path) -> None:
    """anvil rewrites its state in place: a hard kill may leave half a file. Then the last whole copy takes over."""
    if state.exists() and not _is_whole(state):
        backup = _backup_of(state)
        if backup.exists():
            backup.replace(state)
        else:
            state.unlink()


def _back_up(state: Path) -> None:
    copy = state.with_suffix(".copy.json")
    if state.exists():
        shutil.copyfile(state, copy)
        if _is_whole(copy):
            copy.replace(_backup_of(state))


def _is_whole(state: Path) -> bool:
    with state.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - len(_STATE_END)))
        return file.read() == _STATE_END
