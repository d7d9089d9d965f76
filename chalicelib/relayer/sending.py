"""Signs transactions, records their hashes, and then sends them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from chalicelib.chains.nodes.readings import AccountReading
from chalicelib.platform.services import Services
from chalicelib.relayer.following import WINDOW
from chalicelib.relayer.keys.signer import Signer
from chalicelib.relayer.records import RelayedTransaction, RelayerAccount

if TYPE_CHECKING:
    from chalicelib.chains.nodes.evm import EvmChain


def sign_and_send(
    services: Services,
    chain: "EvmChain",
    signer: Signer,
    reading: AccountReading,
    transactions: Sequence[RelayedTransaction],
    *changed: RelayerAccount,
) -> None:
    """Signs transactions with the fees they have, records them, and what else `changed`, in one write, and sends them.

    Raises WriteConflict, and sends nothing, if one of them was changed since it was read; ChainUnavailable if the node
    does not answer.
    """
    from chalicelib.relayer.transactions import sign

    signed = []
    for each in transactions:
        made = sign(each, signer)
        hashes = (*each.hashes, made.tx_hash)
        signed.append(replace(each, hashes=hashes, raw=made.raw, signed_at=services.clock()))
    services.store.write(*signed, *changed)
    send(services, chain, reading, signed)


def send(services: Services, chain: "EvmChain", reading: AccountReading, signed: Sequence[RelayedTransaction]) -> None:
    """Sends signed transactions that are near enough to the account's next nonce; nodes drop others.

    What the node answers is logged and decides nothing. Raises ChainUnavailable if it does not answer.
    """
    near = [each for each in signed if each.raw is not None and each.nonce < reading.nonce + WINDOW]
    if not near:
        return
    answers = chain.send_raw([each.raw for each in near if each.raw is not None])
    for each, said in zip(near, answers, strict=True):
        if said is not None:
            facts = {"network": each.network, "nonce": each.nonce, "call": each.call_key, "reason": said}
            services.log.info("node refused a transaction", extra=facts)
