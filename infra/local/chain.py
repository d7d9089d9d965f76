"""A local chain: anvil with a production chain id and the real contracts at their production addresses.

For Tron the contracts are at the 20 bytes of their Tron addresses, balances are in sun and gas is free;
infra/local/tron.py is the Tron node in front of such a chain.
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
from chalicelib.chains.catalogue.contracts import BATCH, RECURRING_PROXY, address_of
from chalicelib.chains.catalogue.networks import find_network as network_named
from chalicelib.chains.catalogue.tokens import find_tokens
from infra.local.bytecode import DEPLOYER, Artefact, anvil, artefacts
from infra.local.escrow import escrow_artefacts
from infra.local.process import LOCAL, Child, StackProblem, Stoppable, free_port, is_free, patience

STATE_SECONDS = 2
_BACKUP_SECONDS = 10
_STATES_IN_MEMORY = 500
_STATE_END = b'"historical_states":null}'
_COPIED_SLOTS = 12
_BALANCES_SLOT = 0  # of TestERC20
_TRANSFER_GAS_MARGIN = 1.2
_GAS = 10_000_000


class RpcError(Exception):
    """The error object of the node's response."""


class Chain(Stoppable):
    """A running chain.

    Without `block_time` a block is mined for every transaction, else every `block_time` seconds.
    With `state` (a file) blocks, logs, receipts and balances are restored after a restart.
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
        pass_fds: Sequence[int] = (),
    ) -> Self:
        """Starts anvil for a network and puts the contracts in place unless its state already has them.

        Raises StackProblem if the port is in use or anvil does not start.
        """
        chain = network_named(network)
        if chain is None:
            raise StackProblem(f"{network} is not a network")
        if port is not None and not is_free(port):
            raise StackProblem(f"port {port} of the {network} chain is already in use")
        port = port or free_port()
        command = [anvil(), "--port", str(port), "--chain-id", str(chain.chain_id), "--quiet"]
        command += ["--prune-history", str(_STATES_IN_MEMORY)]  # more would be written to the home directory
        if chain.family == "tron":
            command += ["--base-fee", "0", "--gas-price", "0"]
        if block_time:
            command += ["--block-time", str(block_time)]
        if state:
            state.parent.mkdir(parents=True, exist_ok=True)
            _restore(state)
            command += ["--state", str(state), "--state-interval", str(STATE_SECONDS)]
        scratch = LOCAL / "tmp" / f"chain-{port}.log"
        scratch_file = None if log else scratch
        child = Child(f"the {network} chain", command, log or scratch, pass_fds=pass_fds, scratch=scratch_file)
        running = cls(network, child, port, state, scratch)
        with child.starting():
            child.wait_until(running._is_ready)
            running._etch((*artefacts(network), *escrow_artefacts(network)))
        return running

    # --- reading ---

    def rpc(self, method: str, *params: Any) -> Any:
        """Makes one JSON-RPC call. Raises RpcError with the node's error object."""
        return self.batch([(method, *params)])[0]

    def batch(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Makes several calls in one request; returns results in order. Raises RpcError for the first error."""
        requests = [
            {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params} for method, *params in calls
        ]
        by_id = {response["id"]: response for response in self._post(requests)}
        responses = [by_id[request["id"]] for request in requests]
        for response in responses:
            if "error" in response:
                raise RpcError(response["error"])
        return [response["result"] for response in responses]

    def token_balance(self, token: str, holder: str) -> int:
        """Returns balanceOf(holder) in base units."""
        data = "0x70a08231" + address_bytes(holder).rjust(32, b"\0").hex()
        return int(self.rpc("eth_call", {"to": _hex_address(token), "data": data}, "latest"), 16)

    def native_balance(self, holder: str) -> int:
        """Returns the balance in wei, on tron in sun."""
        return int(self.rpc("eth_getBalance", _hex_address(holder), "latest"), 16)

    # --- changing ---

    def send(self, transaction: Mapping[str, Any], private_key: str) -> dict[str, Any]:
        """Signs and broadcasts {to, data, value} (value: int or hex text) and returns the receipt of its block.

        Missing nonce, gas (estimated) and EIP-1559 fees are filled in. The receipt may be of a reverted transaction.
        Raises RpcError if the estimate reverts.
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
        to = bytes.fromhex(filled["to"][2:])  # a text would have to be checksummed
        signed = Account.sign_transaction({**filled, "to": to}, private_key)
        return self.receipt(self.rpc("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex()))

    def receipt(self, transaction_hash: str) -> dict[str, Any]:
        """Waits for the transaction's block and returns its receipt. Raises StackProblem when `patience` is over."""
        deadline = time.monotonic() + patience()
        while time.monotonic() < deadline:
            receipt: dict[str, Any] | None = self.rpc("eth_getTransactionReceipt", transaction_hash)
            if receipt is not None:
                return receipt
            time.sleep(0.05)
        raise StackProblem(f"{transaction_hash} was not mined on {self.network} within {patience():.0f} s")

    def fund_native(self, holder: str, wei: int) -> None:
        """Sets a balance without a transaction or block."""
        self.rpc("anvil_setBalance", _hex_address(holder), hex(wei))

    def fund_token(self, holder: str, token: str, amount: int) -> None:
        """Sets a balance of an etched token, in base units, in its storage slot."""
        self.rpc(*_token_funds(holder, token, amount))

    def fund(self, holder: str, units: int) -> None:
        """Sets the balances of native coin and of every token in the network's catalogue to `units` whole units."""
        tokens = [token for token in find_tokens(network=self.network) if not token.is_native]
        funds = [_token_funds(holder, token.address, units * 10**token.decimals) for token in tokens]
        self.batch([("anvil_setBalance", _hex_address(holder), hex(units * self.coin)), *funds])

    def set_batch_fee(self, basis_points: int) -> None:
        """Sets the batch contract's own fee, which is taken on top of each payment, as the contract's owner."""
        data = f"0xf4d08412{basis_points:064x}"
        self.receipt(self.send_as(DEPLOYER, {"to": address_of(BATCH, self.network), "data": data}))

    def set_relayer(self, relayer: str) -> None:
        """Lets an account execute recurring payments, as the contract's owner."""
        words = address_bytes(DEPLOYER).rjust(32, b"\0") + address_bytes(relayer).rjust(32, b"\0")
        call = {"to": address_of(RECURRING_PROXY, self.network), "data": f"0x69d775a4{words.hex()}"}
        self.receipt(self.send_as(DEPLOYER, call))

    def send_as(self, sender: str, transaction: Mapping[str, Any], gas: int = _GAS) -> str:
        """Broadcasts {to, data, value} from any sender without a signature; returns the transaction's hash."""
        call = {"from": sender, "gas": hex(gas), "to": transaction["to"], "data": transaction.get("data", "0x")}
        call["value"] = _hex(transaction.get("value", 0))
        if self.network == "tron":
            call["gasPrice"] = "0x0"
        self.rpc("anvil_impersonateAccount", sender)
        return str(self.rpc("eth_sendTransaction", call))

    def mine(self, blocks: int = 1) -> None:
        self.rpc("anvil_mine", hex(blocks))

    def snapshot(self) -> str:
        """Saves the whole state; returns its id, which `revert` accepts once."""
        return str(self.rpc("evm_snapshot"))

    def revert(self, snapshot: str) -> None:
        """Restores a snapshot: later blocks are removed, as by a reorganisation."""
        if not self.rpc("evm_revert", snapshot):
            raise StackProblem(f"the {self.network} chain has no snapshot {snapshot}")

    def deploy(self, creation: str) -> str:
        """Deploys creation code (hex, arguments appended) from anvil's first account; returns the address."""
        sent = self.rpc("eth_sendTransaction", {"from": DEPLOYER, "data": creation, "gas": hex(_GAS)})
        self.mine()
        return str(self.receipt(sent)["contractAddress"])

    def etch(self, creation: str, addresses: Sequence[str]) -> None:
        """Puts a contract at given addresses: its runtime code and the first storage slots that its constructor set."""
        original = self.deploy(creation)
        slots = [f"0x{slot:064x}" for slot in range(_COPIED_SLOTS)]
        code, *values = self.batch(
            [
                ("eth_getCode", original, "latest"),
                *(("eth_getStorageAt", original, slot, "latest") for slot in slots),
            ]
        )
        changes: list[tuple[Any, ...]] = []
        for address in addresses:
            changes.append(("anvil_setCode", address, code))
            for slot, value in zip(slots, values, strict=True):
                if int(value, 16):
                    changes.append(("anvil_setStorageAt", address, slot, value))
        self.batch(changes)

    # --- lifecycle ---

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
        """Stops anvil, which first writes the state file, if there is one."""
        self._stopped.set()
        self.child.stop()
        self._scratch.unlink(missing_ok=True)

    def _etch(self, wanted: Sequence[Artefact]) -> None:
        addresses = [address for artefact in wanted for address in artefact.addresses]
        codes = self.batch([("eth_getCode", address, "latest") for address in addresses])
        empty = {address for address, code in zip(addresses, codes, strict=True) if code == "0x"}
        for artefact in wanted:
            missing = [address for address in artefact.addresses if address in empty]
            if missing:
                self.etch(artefact.creation, missing)

    def _is_ready(self) -> bool:
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
            session.trust_env = False  # the node is on this machine: no proxy
        response = session.post(self.url, json=body, timeout=patience()).json()
        return response if isinstance(response, list) else [response]

    def _keep_backup(self, state: Path) -> None:
        while not self._stopped.wait(_BACKUP_SECONDS):
            _back_up(state)


def _token_funds(holder: str, token: str, amount: int) -> tuple[str, ...]:
    """Returns the RPC call that writes a balance of TestERC20 to its storage slot."""
    slot = keccak256(address_bytes(holder).rjust(32, b"\0") + _BALANCES_SLOT.to_bytes(32))
    return "anvil_setStorageAt", _hex_address(token), "0x" + slot.hex(), f"0x{amount:064x}"


def _hex_address(address: str) -> str:
    """Returns an EVM or Tron address as hex of its 20 bytes."""
    return "0x" + address_bytes(address).hex()


def _hex(value: int | str) -> str:
    """Returns a transaction's value, an int or hex text, as hex text."""
    return value if isinstance(value, str) else hex(value)


def _backup_of(state: Path) -> Path:
    return state.with_suffix(".backup.json")


def _restore(state: Path) -> None:
    """Replaces an incomplete state file by the last backup: anvil rewrites it in place and may be killed meanwhile."""
    if state.exists() and not _is_complete(state):
        backup = _backup_of(state)
        if backup.exists():
            backup.replace(state)
        else:
            state.unlink()


def _back_up(state: Path) -> None:
    copy = state.with_suffix(".copy.json")
    if state.exists():
        shutil.copyfile(state, copy)
        if _is_complete(copy):
            copy.replace(_backup_of(state))


def _is_complete(state: Path) -> bool:
    with state.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - len(_STATE_END)))
        return file.read() == _STATE_END
