"""Safe 1.4.1, a multi-signature wallet, on a local chain: its real contracts at their canonical addresses."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from chalicelib.base.addresses import ZERO_ADDRESS, address_bytes, evm_address
from chalicelib.base.keccak import keccak256
from chalicelib.base.signatures import digest_of_typed_data
from chalicelib.chains.calldata.wallets import erc6492
from infra.local.bytecode import DEPLOYER, MODULES
from infra.local.chain import Chain
from infra.local.process import StackProblem

SAFE_L2 = "0x29fcB43b46531BcA003ddC8FCB67FFE91900C762"
PROXY_FACTORY = "0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67"
FALLBACK_HANDLER = "0xfd0732Dc9E303f09fCEf3a7388Ad10A83459Ec99"
MULTI_SEND_CALL_ONLY = "0x9641d764fc13c8B624c04430C7356C1C7C8102e2"
SINGLETON_FACTORY = "0x914d7Fec6aaC8cd542e72Bca78B30650d45643d7"

EXECUTION_SUCCESS = "0x" + keccak256(b"ExecutionSuccess(bytes32,uint256)").hex()
EXECUTION_FAILURE = "0x" + keccak256(b"ExecutionFailure(bytes32,uint256)").hex()
"""Topics of the events of SafeL2 1.4.1, which have the transaction's hash indexed."""

_ARTEFACTS = MODULES / "@safe-global/safe-contracts/build/artifacts/contracts"
_CONTRACTS = {
    SAFE_L2: "SafeL2.sol/SafeL2.json",
    PROXY_FACTORY: "proxies/SafeProxyFactory.sol/SafeProxyFactory.json",
    FALLBACK_HANDLER: "handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler.json",
    MULTI_SEND_CALL_ONLY: "libraries/MultiSendCallOnly.sol/MultiSendCallOnly.json",
}
_PROXY = "proxies/SafeProxy.sol/SafeProxy.json"
# CREATE2: the first word of the calldata is the salt, the rest creation code; returns the 20 bytes of the address
_SINGLETON_FACTORY_CODE = "0x" + (
    "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0"
    "3601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3"
)
_NO_SALT = bytes(32).hex()
_EXEC_TRANSACTION = "6a761202"
_EXEC_TRANSACTION_TYPES = ["address", "uint256", "bytes", "uint8", *["uint256"] * 3, "address", "address", "bytes"]
_TRANSACTION_TYPE = [
    {"name": "to", "type": "address"},
    {"name": "value", "type": "uint256"},
    {"name": "data", "type": "bytes"},
    {"name": "operation", "type": "uint8"},
    {"name": "safeTxGas", "type": "uint256"},
    {"name": "baseGas", "type": "uint256"},
    {"name": "gasPrice", "type": "uint256"},
    {"name": "gasToken", "type": "address"},
    {"name": "refundReceiver", "type": "address"},
    {"name": "nonce", "type": "uint256"},
]


@dataclass(frozen=True)
class SafeTransaction:
    """What the owners sign. With `safe_tx_gas` a failing call emits ExecutionFailure and the transaction succeeds."""

    to: str
    data: str
    nonce: int
    value: int = 0
    operation: int = 0
    safe_tx_gas: int = 0
    base_gas: int = 0
    gas_price: int = 0
    gas_token: str = ZERO_ADDRESS
    refund_receiver: str = ZERO_ADDRESS

    def digest(self, chain_id: int, safe: str) -> bytes:
        """Returns the safeTxHash: EIP-712 with chain id and Safe as domain."""
        return digest_of_typed_data(
            {
                "domain": {"chainId": chain_id, "verifyingContract": safe},
                "types": {"SafeTx": _TRANSACTION_TYPE},
                "primaryType": "SafeTx",
                "message": self.json(),
            }
        )

    def json(self) -> dict[str, Any]:
        """Returns the ten fields by their names in EIP-712 and in the Safe Transaction Service."""
        return {
            "to": self.to,
            "value": self.value,
            "data": self.data,
            "operation": self.operation,
            "safeTxGas": self.safe_tx_gas,
            "baseGas": self.base_gas,
            "gasPrice": self.gas_price,
            "gasToken": self.gas_token,
            "refundReceiver": self.refund_receiver,
            "nonce": self.nonce,
        }

    def call(self, signatures: bytes) -> bytes:
        """Returns the calldata of execTransaction(...), which any account may send to the Safe."""
        from eth_abi import encode

        *values, _ = self.json().values()
        values[2] = bytes.fromhex(self.data[2:])
        return bytes.fromhex(_EXEC_TRANSACTION) + encode(_EXEC_TRANSACTION_TYPES, [*values, signatures])

    @classmethod
    def of_call(cls, data: bytes, nonce: int) -> Self:
        """Decodes a call of execTransaction, which does not contain the nonce. Raises ValueError for another call."""
        from eth_abi import decode
        from eth_abi.exceptions import DecodingError

        if data[:4].hex() != _EXEC_TRANSACTION:
            raise ValueError("not execTransaction")
        try:
            to, value, inner, *rest, _ = decode(_EXEC_TRANSACTION_TYPES, data[4:])
        except DecodingError as error:
            raise ValueError("not execTransaction") from error
        return cls(evm_address(to), "0x" + inner.hex(), nonce, value, *rest[:4], *map(evm_address, rest[4:]))


@dataclass(frozen=True)
class Safe:
    """A deployed Safe with the keys of its owners."""

    chain: Chain
    address: str
    keys: tuple[str, ...]
    threshold: int

    @classmethod
    def deploy(cls, chain: Chain, keys: Sequence[str], threshold: int = 2, salt: int = 0) -> Self:
        """Returns the Safe of these owners, threshold and salt; creates it if it does not exist."""
        from eth_account import Account

        owners = [Account.from_key(key).address for key in keys]
        return cls(chain, deploy_safe(chain, owners, threshold, salt), tuple(keys), threshold)

    def nonce(self) -> int:
        """Returns the nonce of the next transaction, read from the chain."""
        return int(self.chain.rpc("eth_call", {"to": self.address, "data": "0xaffed0e0"}, "latest"), 16)

    def transaction(self, call: Mapping[str, Any], nonce: int | None = None, safe_tx_gas: int = 0) -> SafeTransaction:
        """Returns a transaction of the API's {to, value, data, operation}, with the next nonce by default."""
        value = call.get("value", 0)
        return SafeTransaction(
            to=call["to"],
            data=call["data"],
            nonce=self.nonce() if nonce is None else nonce,
            value=int(value, 16) if isinstance(value, str) else value,
            operation=call.get("operation", 0),
            safe_tx_gas=safe_tx_gas,
        )

    def rejection(self, nonce: int) -> SafeTransaction:
        """Returns an empty transaction with the same nonce, which owners execute to replace another one."""
        return SafeTransaction(self.address, "0x", nonce)

    def hash(self, transaction: SafeTransaction) -> str:
        """Returns the safeTxHash, hex with 0x."""
        return "0x" + transaction.digest(self.chain.chain_id, self.address).hex()

    def signatures(self, transaction: SafeTransaction) -> bytes:
        """Returns the signatures of the first `threshold` owners."""
        return _signatures(bytes.fromhex(self.hash(transaction)[2:]), self.keys[: self.threshold])

    def execute(self, transaction: SafeTransaction) -> dict[str, Any]:
        """Executes a transaction with the owners' signatures, sent by another account; returns the receipt.

        Raises StackProblem if it reverts, as it does if its call fails and `safe_tx_gas` is 0.
        """
        data = transaction.call(self.signatures(transaction))
        receipt = self.chain.receipt(self.chain.send_as(DEPLOYER, {"to": self.address, "data": "0x" + data.hex()}))
        if receipt["status"] != "0x1":
            raise StackProblem(f"{receipt['transactionHash']} of the Safe {self.address} reverted")
        return receipt

    def proposal(self, transaction: SafeTransaction) -> dict[str, Any]:
        """Returns the body that the first owner posts to the Safe Transaction Service, with that owner's signature."""
        from eth_account import Account

        hash_, key = self.hash(transaction), self.keys[0]
        signed = {"signature": "0x" + _signatures(bytes.fromhex(hash_[2:]), [key]).hex()}
        sender = Account.from_key(key).address
        return {**transaction.json(), "contractTransactionHash": hash_, "sender": sender, **signed}


def install_safe(chain: Chain) -> None:
    """Deploys the Safe contracts on a chain unless they exist.

    The singleton factory creates them, so each address is a hash of the code. Raises StackProblem if an address is not
    the canonical one: the npm package then holds another contract.
    """
    codes = chain.batch([("eth_getCode", address, "latest") for address in (SINGLETON_FACTORY, *_CONTRACTS)])
    if "0x" not in codes:
        return
    chain.rpc("anvil_setCode", SINGLETON_FACTORY, _SINGLETON_FACTORY_CODE)
    for address, file in _CONTRACTS.items():
        if not _has_code(chain, address):
            _send(chain, SINGLETON_FACTORY, "0x" + _NO_SALT + _creation_code(file).hex())
            if not _has_code(chain, address):
                raise StackProblem(f"{file} of the npm package is not the contract at {address}: run `make setup`")


def deploy_safe(chain: Chain, owners: Sequence[str], threshold: int, salt: int) -> str:
    """Creates the Safe of these owners, of whom `threshold` must sign, unless it exists; returns its address."""
    install_safe(chain)
    safe = safe_address(owners, threshold, salt)
    if not _has_code(chain, safe):
        _send(chain, PROXY_FACTORY, "0x" + creation_call(owners, threshold, salt).hex())
        if not _has_code(chain, safe):
            raise StackProblem(f"the Safe {safe} was not created")
    return safe


def safe_address(owners: Sequence[str], threshold: int, salt: int) -> str:
    """Returns the CREATE2 address of the Safe of these owners, in this order, with EIP-55 checksum."""
    creation = _creation_code(_PROXY) + address_bytes(SAFE_L2).rjust(32, b"\0")
    proxy_salt = keccak256(keccak256(_setup_call(owners, threshold)) + salt.to_bytes(32, "big"))
    digest = keccak256(b"\xff" + address_bytes(PROXY_FACTORY) + proxy_salt + keccak256(creation))
    return evm_address("0x" + digest[-20:].hex())


def creation_call(owners: Sequence[str], threshold: int, salt: int) -> bytes:
    """Returns the proxy factory's call that creates the Safe: createProxyWithNonce(singleton, initializer, salt)."""
    from eth_abi import encode

    values = [SAFE_L2, _setup_call(owners, threshold), salt]
    return bytes.fromhex("1688f0b9") + encode(["address", "bytes", "uint256"], values)


def sign_safe_message(chain_id: int, safe: str, digest: bytes, keys: Sequence[str]) -> bytes:
    """Returns the Safe's ERC-1271 signature of 32 bytes: its owners' signatures, ordered by address."""
    safe_digest = digest_of_typed_data(
        {
            "domain": {"chainId": chain_id, "verifyingContract": safe},
            "types": {"SafeMessage": [{"name": "message", "type": "bytes"}]},
            "primaryType": "SafeMessage",
            "message": {"message": "0x" + digest.hex()},
        }
    )
    return _signatures(safe_digest, keys)


def sign_undeployed(owners: Sequence[str], threshold: int, salt: int, signature: bytes) -> bytes:
    """Returns the ERC-6492 signature of a Safe that does not exist yet: it contains the call that creates the Safe."""
    return erc6492.wrap(PROXY_FACTORY, creation_call(owners, threshold, salt), signature)


def _signatures(digest: bytes, keys: Sequence[str]) -> bytes:
    """Returns signatures of 32 bytes in the order of the owners' addresses, as a Safe requires."""
    from eth_account import Account

    owners = sorted((Account.from_key(key) for key in keys), key=lambda owner: int(owner.address, 16))
    return b"".join(bytes(owner.unsafe_sign_hash(digest).signature) for owner in owners)


def _setup_call(owners: Sequence[str], threshold: int) -> bytes:
    """Returns the call setup(owners, threshold, to, data, fallbackHandler, paymentToken, payment, paymentReceiver)."""
    from eth_abi import encode

    types = ["address[]", "uint256", "address", "bytes", "address", "address", "uint256", "address"]
    values = [list(owners), threshold, ZERO_ADDRESS, b"", FALLBACK_HANDLER, ZERO_ADDRESS, 0, ZERO_ADDRESS]
    return bytes.fromhex("b63e800d") + encode(types, values)


def _creation_code(file: str) -> bytes:
    path = _ARTEFACTS / file
    if not path.exists():
        raise StackProblem(f"the npm package has no {path.name}: run `make setup`")
    return bytes.fromhex(json.loads(path.read_text())["bytecode"][2:])


def _has_code(chain: Chain, address: str) -> bool:
    return len(chain.rpc("eth_getCode", address, "latest")) > 2


def _send(chain: Chain, to: str, data: str) -> None:
    """Sends a call from anvil's first account and mines a block, also if blocks are mined by time."""
    sent = chain.rpc("eth_sendTransaction", {"from": DEPLOYER, "to": to, "data": data})
    chain.mine()
    if chain.receipt(sent)["status"] != "0x1":
        raise StackProblem(f"a call to {to} on {chain.network} reverted")
