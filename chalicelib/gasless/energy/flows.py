"""Delegates the operator's stake to wallets on Tron for single payments: read, sign, write, and only then send."""

from hashlib import sha256

from chalicelib.base.addresses import address_bytes, tron_address_of
from chalicelib.base.errors import BadGateway, BadRequest
from chalicelib.chains.calldata.tron import Delegation, encode_delegation, encode_signed_transaction
from chalicelib.chains.nodes.agreement import combine_answers
from chalicelib.chains.nodes.readings import Delegated, ReferenceBlock
from chalicelib.gasless.energy import rules, store
from chalicelib.gasless.energy.records import EnergyDelegation
from chalicelib.gasless.energy.rules import Wish
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.relayer.keys.signer import Signer, tron_signer

_ACTIVE_PERMISSION = 2
"""The first permission of an account besides owner (0) and witness (1): what its owner lets another key do."""


def read_setting(services: Services) -> rules.EnergySetting | None:
    """What the operator has set beside the URLs of nodes; None if nothing is, or what is wrong, which the log says.
    Test mode has no stake, and only a local stack a key in a secret."""
    text = services.secrets.tron_energy
    if services.live is not None or not text:
        return None
    try:
        setting = rules.parse_setting(text)
    except (ValueError, LookupError, BadRequest) as error:
        services.log.error("the entry tron_energy cannot be used", extra={"reason": str(error)})
        return None
    if setting.key == "secret" and services.settings.stage != "local":
        services.log.error("the entry tron_energy cannot be used", extra={"reason": "its key has to be in KMS"})
        return None
    return setting


def of_link(services: Services, link_token: str, wallet: str) -> EnergyDelegation | None:
    """What a wallet has for the payment of a link; None if nothing is delegated to it for that. One read."""
    last = store.delegation(services.store, wallet)
    return last if last is not None and last.is_open and last.link_token == link_token else None


@retry_conflicts(5)  # other payments are counted in the same day
def delegate(services: Services, wish: Wish) -> EnergyDelegation:
    """Delegates what a wallet lacks; what it has for this link already is only read.

    Four requests to each node, up to two signatures, two reads and one write, then the transactions are sent. What the
    node answers to these is logged and decides nothing: what became of them is read from the chain (`running`).

    Raises BadRequest and Conflict with what to do instead, ChainUnavailable with nothing sent, and WriteConflict after
    five conflicts.
    """
    setting = read_setting(services)
    if setting is None:
        raise BadRequest("This service delegates no energy: send the wallet the TRX that it lacks")
    now, owner, chain = services.clock(), setting.account, services.chains.tron()
    last = store.delegation(services.store, wish.wallet)
    if last is not None and last.is_open and last.link_token == wish.link_token:
        return last
    rules.check_free(last, wish, now)
    of_all, of_account = store.uses(services.store, wish.account_id, now.date().isoformat())
    share = setting.daily * services.settings.relayer_account_percent // 100
    used = [rules.count_use(of_all, wish.energy, setting.daily)]
    used.append(rules.count_use(of_account, wish.energy, share))
    stakes = combine_answers(chain, lambda node: node.read_stake(owner), tuple).value
    energy, bandwidth = rules.choose_stakes(chain.network, stakes, wish)
    block = read_reference(services)
    amounts = Delegated(block.time, energy, bandwidth)
    signed = sign(services, owner, wish.wallet, amounts, block, takes_back=False)
    made = rules.begin(wish, owner, amounts, signed, last, now)
    written = services.store.write(made, *used)
    services.log.info("energy delegated", extra={"account_id": wish.account_id, "energy": wish.energy})
    send(services, written)
    return written


def read_reference(services: Services) -> ReferenceBlock:
    """The block that a transaction refers to. One request to each node."""
    chain = services.chains.tron()
    return combine_answers(chain, lambda node: node.read_reference_block(), rules.oldest).value


def sign(
    services: Services, owner: str, wallet: str, amounts: Delegated, block: ReferenceBlock, *, takes_back: bool
) -> tuple[str, ...]:
    """The signed transactions that delegate these amounts, or take them back, in hexadecimal. A signature for each."""
    signer = _signer_of(services)
    is_own = address_bytes(signer.address) == address_bytes(owner)
    permission_id = 0 if is_own else _ACTIVE_PERMISSION
    made = rules.to_sign(owner, permission_id, wallet, amounts, block, takes_back=takes_back)
    return tuple(_sign_one(signer, each) for each in made)


def send(services: Services, delegation: EnergyDelegation) -> None:
    """Sends what is signed and may not be in a block yet, again as well: the network takes the same bytes once."""
    chain, outcomes = services.chains.tron(), list[str]()
    for each in delegation.signed:
        try:
            outcomes.append(chain.broadcast(bytes.fromhex(each)).code)
        except BadGateway as error:
            outcomes.append(error.message)
    facts = {"wallet": delegation.wallet, "stage": delegation.stage.value, "outcomes": outcomes}
    services.log.info("transactions of a delegation sent", extra=facts)


def key_address(services: Services) -> str:
    """The address of the key that signs delegations, in base58. Raises as the key's store does."""
    return tron_address_of(address_bytes(_signer_of(services).address))


def _signer_of(services: Services) -> Signer:
    """The signer, also of what is taken back after the operator has removed the setting."""
    setting = read_setting(services)
    return tron_signer(services, setting.key if setting is not None else "kms")


def _sign_one(signer: Signer, delegation: Delegation) -> str:
    raw = encode_delegation(delegation)
    made = signer.sign(sha256(raw).digest())
    signature = made.r.to_bytes(32, "big") + made.s.to_bytes(32, "big") + bytes([27 + made.recovery_id])
    return encode_signed_transaction(raw, [signature]).hex()
