"""Addresses for plain transfers of one token: each belongs to one payment, and a contract can empty it to its payee.

The contract is ERC20SingleRequestProxy of npm @requestnetwork/smart-contracts 0.48.0 (data/single_request_proxy.json).
It is created by CREATE2 through the deterministic deployer, which has one address on all networks:

    creation  code of the contract | payee | token | 0xc0 | fee address | fee amount | fee proxy | 8 | reference, padded
    address   the last 20 bytes of keccak256(ff | deployer | salt | keccak256(creation)); the salt is zero
    deploy    to the deployer: salt | creation

Everything that decides who gets the money is in the address. So it is known before there is code, is the same in every
fork, and no sender can have other code there. A second deployment at an address burns all gas it is given: read the
code first.

    triggerERC20Payment()      024c6e72  pays the whole balance through the fee proxy, of which the fee is a fixed part
    rescueERC20Funds(address)  a986459c  pays the balance of any token to the payee, without fee and event
    rescueNativeFunds()        063c27f8  pays coins to the payee

Anybody may call each of them.
"""

from chalicelib.base.addresses import address_bytes, evm_address
from chalicelib.base.frozen import frozen
from chalicelib.base.keccak import keccak256
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata import multicall3
from chalicelib.chains.calldata.abi import WORD, address_word, call, uint_word
from chalicelib.chains.calldata.fee_proxy import fee_word, reference_tail
from chalicelib.chains.calldata.transaction import Call, Transaction
from chalicelib.chains.catalogue.contracts import DEPLOYER, ERC20_FEE_PROXY, address_of
from chalicelib.chains.catalogue.data import load

DEPLOYMENT_GAS = 1_800_000
"""More than the deployment and one payment take together (1,397,695 were measured)."""
PAYMENT_GAS = 250_000
"""More than a payment from a deployed address takes (116,194 were measured)."""

_SALT = bytes(32)
_TRIGGER = bytes.fromhex("024c6e72")
_RESCUE_ERC20 = bytes.fromhex("a986459c")
_RESCUE_NATIVE = bytes.fromhex("063c27f8")


@frozen
class PlainTransferTerms:
    """What an address for plain transfers is made of. `fee_amount` is what each payment from it pays as fee, in base
    units of the token; the payee gets the rest. Without a fee the fee address is None."""

    network: str
    payee: str
    token: str
    reference: bytes
    fee_amount: BaseUnits = BaseUnits(0)
    fee_address: str | None = None


def creation_code(terms: PlainTransferTerms) -> bytes:
    """The code that creates the contract. Raises LookupError without a fee proxy, ValueError as `fee_word`."""
    arguments = (
        address_word(terms.payee),
        address_word(terms.token),
        uint_word(6 * WORD),
        fee_word(terms.fee_amount, terms.fee_address),
        uint_word(terms.fee_amount),
        address_word(address_of(ERC20_FEE_PROXY, terms.network)),
        reference_tail(terms.reference),
    )
    return bytes.fromhex(load("single_request_proxy")["creation"][2:]) + b"".join(arguments)


def plain_transfer_address(terms: PlainTransferTerms) -> str:
    """The address, in EIP-55. Raises as `creation_code`."""
    code_hash = keccak256(creation_code(terms))
    return evm_address("0x" + keccak256(b"\xff" + address_bytes(DEPLOYER) + _SALT + code_hash)[-20:].hex())


def deploy(terms: PlainTransferTerms) -> Transaction:
    """Creates the contract at its address; for an address without code. Works on every network with the deployer."""
    return Transaction(DEPLOYER, "0x" + (_SALT + creation_code(terms)).hex(), 0)


def pay_out(address: str) -> Transaction:
    """Pays what a deployed address has of its token to the payee, through the fee proxy."""
    return Transaction(evm_address(address), call(_TRIGGER), 0)


def deploy_and_pay_out(terms: PlainTransferTerms) -> Transaction:
    """Both in one transaction, of which either all happens or nothing."""
    calls = [deploy(terms), pay_out(plain_transfer_address(terms))]
    return multicall3.all_or_nothing(terms.network, [Call(each.to, each.data) for each in calls])


def rescue(address: str, token: str | None) -> Transaction:
    """Pays what a deployed address has of any token to the payee, or with None what it has of the native coin."""
    data = call(_RESCUE_NATIVE) if token is None else call(_RESCUE_ERC20, address_word(token))
    return Transaction(evm_address(address), data, 0)
