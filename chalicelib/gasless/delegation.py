"""The service's account of gasless payments, and the contract that it delegates to (EIP-7702).

Its code is read before the account delegates to it, and again before each batch: another one than the listed is never
delegated to, nor called.
"""

from chalicelib.base.errors import BadRequest
from chalicelib.base.keccak import keccak256
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets.delegate import delegated_code
from chalicelib.chains.catalogue.contracts import DELEGATE, DELEGATE_CODE_HASH, address_of
from chalicelib.chains.nodes.agreement import agree
from chalicelib.platform.services import Services
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.records import Role
from chalicelib.relayer.rules import Call, Submission, Use

ACCOUNT = "gasless"
"""For what the gas of delegating is counted, as the calls of a merchant are for their account."""
_GAS = 100_000
"""Measured: 36,837."""


def share_of(account_id: str) -> str:
    """For whom the gas of a merchant's gasless payments is counted: apart from their other calls, which payers do not
    slow down."""
    return f"{ACCOUNT}/{account_id}"


def is_delegated(services: Services, network: str, sender: str) -> bool:
    """Whether the account delegates to the listed contract, as the nodes agree. One request to each.

    Raises BadRequest unless that has the code that is known of it, ChainUnavailable.
    """
    delegate = address_of(DELEGATE, network)
    own, code = agree(services.chains.evm(network), lambda node: node.read_codes(sender, delegate)).value
    if keccak256(code).hex() != DELEGATE_CODE_HASH[2:]:
        raise BadRequest(f"No gasless payments are made on {network}: {DELEGATE} there does not have the known code")
    return own == delegated_code(delegate)


def submit_delegation(services: Services, network: str, sender: str, nonce: int) -> Submission:
    """Submits the transaction by which the account delegates, once for each nonce that it has."""
    made = Transaction(sender, "0x", 0)
    call = Call(
        f"gasless/{network}/{sender}/{nonce}",
        network,
        made.to,
        made.data,
        gas_limit=_GAS,
        account_id=ACCOUNT,
        use=Use.ORDINARY,
        runs_foreign_code=True,
        role=Role.GASLESS,
        delegate=address_of(DELEGATE, network),
    )
    (submission,) = relayer_flows.submit(services, [call])
    return submission
