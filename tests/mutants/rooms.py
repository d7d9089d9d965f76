"""Which modules are mutated, and which tests are those of their room."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Room:
    name: str
    targets: tuple[Path, ...]
    tests: tuple[str, ...]


ROOMS: dict[str, tuple[str, str]] = {
    "base": ("core/{addresses,ids,keccak,money,wallets,errors}", "core/{addresses,money,wallets} api/{messages}"),
    "catalogue": ("core/{tokens,networks,contracts,destinations}", "core/{tokens,networks,destinations} api/{currencies}"),
    "calldata": ("calldata/*", "calldata/*"),
    "storage": ("aws/store", "aws/*"),
    "chain": ("core/{chainlog}", "core/{chainlog} net/{evm,tron}"),
    "outbound": ("net/webhook_sender", "net/webhook_sender"),
    "access": (
        "core/{rate_limits,callers,credentials,audit,idempotency,sessions}",
        "core/{rate_limits,credentials,idempotency,sessions} flows/{sessions,credentials} "
        "api/{rate_limits,authentication,idempotency,audit,auth}",
    ),
    "webhooks": ("core/{webhooks,events}", "core/{webhooks} flows/{webhooks,crashes} api/{webhooks}"),
    "http": ("api/edge", "api/{edge,cors,messages,wire,idempotency,authentication}"),
    "accounts": (
        "core/{api_keys,client_ids,branding,orchestrators,users,images,passwords}",
        "core/{branding,images,passwords} flows/{credentials,orchestrators} "
        "api/{api_keys,client_ids,branding,orchestrators,audit}",
    ),
    "payees": ("core/payee_destinations", "core/payee_destinations flows/destinations api/payee_destinations"),
    "requests": ("core/{payments,references}", "core/{payments,references} flows/{detection,batches} api/{read,lookup}"),
    "links": (
        "core/{links,link_creation,fees,payouts,multicall}",
        "core/{fees,payouts,multicall} flows/{batches,multicalls} "
        "api/{create,create_refused,read,lookup,fees,payouts,multicall_payouts}",
    ),
    "detection": ("core/{transfers,strays}", "core/{transfers,strays} flows/{detection,transfers,shared_detection} api/{transfers}"),
    "checkout": (
        "core/{intents,sources,samples}",
        "core/{intents} flows/{intents,intent_tracking,intent_withdrawal} api/{pay,pay_kinds,tron,intents,tron_broadcast}",
    ),
    "pages": ("pages/check.js", "pages/check"),
}


def rooms(only: str | None) -> Iterator[Room]:
    for name, (targets, tests) in ROOMS.items():
        if only in (None, name):
            modules = tuple(path for each in targets.split() for path in _paths("chalicelib", each, "", ".py"))
            files = tuple(str(path) for each in tests.split() for path in _paths("tests", each, "test_", ".py"))
            yield Room(name, modules, files)


def _paths(top: str, pattern: str, prefix: str, suffix: str) -> Iterator[Path]:
    folder, _, names = pattern.rpartition("/")
    for name in names.strip("{}").split(","):
        wanted = name if "." in name else f"{prefix}{name}{suffix}"
        yield from sorted(path for path in (ROOT / top / folder).glob(wanted) if path.name != "__init__.py")
