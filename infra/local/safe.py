"""Safe 1.4.1 on a local chain: a multi-signature wallet at the addresses and with the code it has everywhere."""

import json
from collections.abc import Sequence

from chalicelib.calldata import erc6492
from chalicelib.core.addresses import ZERO_ADDRESS, address_bytes, evm_address
from chalicelib.core.keccak import keccak256
from chalicelib.core.wallets import typed_data_digest
from infra.local.bytecode import MODULES
from infra.local.chain import Chain
from infra.local.process import StackProblem

SAFE_L2 = "0x29fcB43b46531BcA003ddC8FCB67FFE91900C762"
PROXY_FACTORY = "0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67"
FALLBACK_HANDLER = "0xfd0732Dc9E303f09fCEf3a7388Ad10A83459Ec99"
SINGLETON_FACTORY = "0x914d7Fec6aaC8cd542e72Bca78B30650d45643d7"

_ARTEFACTS = MODULES / "@safe-global/safe-contracts/build/artifacts/contracts"
_CONTRACTS = {
    SAFE_L2: "SafeL2.sol/SafeL2.json",
    PROXY_FACTORY: "proxies/SafeProxyFactory.sol/SafeProxyFactory.json",
    FALLBACK_HANDLER: "handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler.json",
}
_PROXY = "proxies/SafeProxy.sol/SafeProxy.json"
# CREATE2 with the first word of the calldata as salt and the rest as creation code; returns the 20 bytes of the address
_SINGLETON_FACTORY_CODE = "0x" + (
    "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe0"
    "3601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3"
)
_NO_SALT = bytes(32).hex()


def install_safe(chain: Chain) -> None:
    """Put the Safe contracts on a chain, unless they are there.

    Each is created by the singleton factory, so its address is a hash of its code: at another address than the
    canonical one it would be another contract. Raises StackProblem then.
    """
    chain.rpc("anvil_setCode", SINGLETON_FACTORY, _SINGLETON_FACTORY_CODE)
    for address, file in _CONTRACTS.items():
        if not _has_code(chain, address):
            _send(chain, SINGLETON_FACTORY, "0x" + _NO_SALT + _creation_code(file).hex())
            if not _has_code(chain, address):
                raise StackProblem(f"{file} of the npm package is not the contract at {address}: run `make setup`")


def deploy_safe(chain: Chain, owners: Sequence[str], threshold: int, salt: int) -> str:
    """A new Safe of these owners, of whom `threshold` must sign; its address."""
    install_safe(chain)
    _send(chain, PROXY_FACTORY, "0x" + creation_call(owners, threshold, salt).hex())
    safe = safe_address(owners, threshold, salt)
    if not _has_code(chain, safe):
        raise StackProblem(f"the Safe {safe} was not created")
    return safe


def safe_address(owners: Sequence[str], threshold: int, salt: int) -> str:
    """Where the Safe of these owners, in this order, is or will be: the CREATE2 address of its proxy, EIP-55."""
    creation = _creation_code(_PROXY) + address_bytes(SAFE_L2).rjust(32, b"\0")
    proxy_salt = keccak256(keccak256(_setup_call(owners, threshold)) + salt.to_bytes(32, "big"))
    digest = keccak256(b"\xff" + address_bytes(PROXY_FACTORY) + proxy_salt + keccak256(creation))
    return evm_address("0x" + digest[-20:].hex())


def creation_call(owners: Sequence[str], threshold: int, salt: int) -> bytes:
    """The call to the proxy factory that creates the Safe: createProxyWithNonce(singleton, initializer, salt)."""
    from eth_abi import encode

    values = [SAFE_L2, _setup_call(owners, threshold), salt]
    return bytes.fromhex("1688f0b9") + encode(["address", "bytes", "uint256"], values)


def sign_safe_message(chain_id: int, safe: str, digest: bytes, keys: Sequence[str]) -> bytes:
    """The owners' signatures by which the Safe says that it signed 32 bytes (ERC-1271), sorted as it wants them."""
    from eth_account import Account

    safe_digest = typed_data_digest(
        {
            "domain": {"chainId": chain_id, "verifyingContract": safe},
            "types": {"SafeMessage": [{"name": "message", "type": "bytes"}]},
            "primaryType": "SafeMessage",
            "message": {"message": "0x" + digest.hex()},
        }
    )
    owners = sorted((Account.from_key(key) for key in keys), key=lambda owner: int(owner.address, 16))
    return b"".join(bytes(owner.unsafe_sign_hash(safe_digest).signature) for owner in owners)


def undeployed_signature(owners: Sequence[str], threshold: int, salt: int, signature: bytes) -> bytes:
    """The signature of a Safe that does not exist yet: with the call that would create it (ERC-6492)."""
    return erc6492.wrapped(PROXY_FACTORY, creation_call(owners, threshold, salt), signature)


def _setup_call(owners: Sequence[str], threshold: int) -> bytes:
    """setup(owners, threshold, to, data, fallback handler, payment token, payment, payment receiver)."""
    from eth_abi import encode

    types = ["address[]", "uint256", "address", "bytes", "address", "address", "uint256", "address"]
    nobody = ZERO_ADDRESS
    values = [list(owners), threshold, nobody, b"", FALLBACK_HANDLER, nobody, 0, nobody]
    return bytes.fromhex("b63e800d") + encode(types, values)


def _creation_code(file: str) -> bytes:
    path = _ARTEFACTS / file
    if not path.exists():
        raise StackProblem(f"the npm package has no {path.name}: run `make setup`")
    return bytes.fromhex(json.loads(path.read_text())["bytecode"][2:])


def _has_code(chain: Chain, address: str) -> bool:
    return len(chain.rpc("eth_getCode", address, "latest")) > 2


def _send(chain: Chain, to: str, data: str) -> None:
    """From anvil's first account, mined at once also where blocks come by the clock."""
    sender = chain.rpc("eth_accounts")[0]
    sent = chain.rpc("eth_sendTransaction", {"from": sender, "to": to, "data": data})
    chain.mine()
    if chain.receipt(sent)["status"] != "0x1":
        raise StackProblem(f"a call to {to} on {chain.network} reverted")
