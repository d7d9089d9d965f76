"""Which modules are mutated, by room, and which tests are run on them: by default the test folder of the same name."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGETS = {
    "base": "*.py",
    "chains/catalogue": "*.py",
    "chains/calldata": "**/*.py",
    "chains/proofs": "*.py",
    "chains/nodes": "blocks.py escrow/*.py conversions/logs.py conversions/rates.py rpc/hex_values.py rpc/jsonrpc.py logs.py "
    "ranges.py receipts.py relaying.py safes/reads.py safes/service.py simulation.py transfers.py",
    "platform/storage": "store.py items.py",
    "platform/access": "**/rules.py callers.py idempotency/flows.py",
    "platform/http": "pipeline.py operation.py replay.py",
    "platform/outbound": "sender.py compliance.py lifi.py",
    "platform/privacy": "rules.py",
    "webhooks": "**/rules.py samples.py",
    "accounts": "**/rules.py sign_in/passwords.py branding/images.py",
    "mail": "rules.py",
    "relayer": "rules.py reservations.py reverts.py following.py custody.py keys/kms.py",
    "commerce/core": "*.py",
    "commerce/service": "creation.py due_payments.py execution.py operation_steps.py payer_calls.py refunds.py rules.py terms.py transactions.py",
    "offramp/core": "rules.py",
    "offramp/service": "rules.py orders.py settling.py",
    "offramp/payers": "rules.py formats.py inbound.py",
    "crosschain/core": "bridged_calls.py",
    "crosschain/service/router": "rules.py verification.py circuit.py asking.py flows.py",
    "crosschain/service/sources": "*.py",
    "payments/announcements/bridges": "*.py",
    "crosschain/service/payment_intents": "rules.py stages.py flows.py running.py",
    "payments/currencies": "**/rules.py",
    "payments/rates": "rules.py",
    "payments/requests": "**/rules.py calendar.py creation.py fields.py permissions.py references.py targets.py recurring.py",
    "payments/links": "**/rules.py creation.py permissions.py multicalls/children.py",
    "payments/payable": "*.py",
    "payments/announcements": "rules.py admission.py checks.py",
    "payments/scanning": "rules.py transfer_log.py",
    "payments/recording": "rules.py deciding.py causes/*.py changes.py matching.py unmatched.py events.py valuation.py",
    "payments/transfers": "**/rules.py",
    "payments/search": "**/rules.py",
    "recurring": "rules.py periods.py forks.py creation.py",
    "gasless": "rules.py",
    "checkout": "**/rules.py approvals.py pipeline.py crosschain/*.py",
    "pages": "payment/abi.js payment/addresses.js payment/calldata.js payment/contracts.js",
}
"""In every room the decisions without AWS, network and clock, and the checks at the edges."""

TESTS = {"pages": "tests/pages/test_calldata.py", "crosschain/core": "tests/crosschain/service/router"}
"""Rooms whose tests are not the folder of their name: the page's check needs no browser, and routes are what is read."""


@dataclass(frozen=True)
class Room:
    name: str
    targets: tuple[Path, ...]
    tests: tuple[str, ...]


def rooms(only: str | None) -> Iterator[Room]:
    """Yields the rooms with their mutated modules. Raises LookupError for an unknown room."""
    if only is not None and only not in TARGETS:
        raise LookupError(f"{only} is not a room: {', '.join(TARGETS)}")
    for name in TARGETS if only is None else [only]:
        found = (
            path for pattern in TARGETS[name].split() for path in sorted((ROOT / "chalicelib" / name).glob(pattern))
        )
        targets = tuple(path for path in dict.fromkeys(found) if path.name != "__init__.py")
        yield Room(name, targets, (TESTS.get(name, f"tests/{name}"),))
