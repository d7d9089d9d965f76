"""Writes what the payment page knows by itself of networks, tokens and contracts into its scripts, from the catalogue.

    python -m infra.documents.page           write the marked parts of the scripts
    python -m infra.documents.page --check   exit with status 1 if a part is not as the catalogue has it

The page compares every response with its own lists, so that a response alone cannot change what is paid: read the
difference before it is committed. The rest of the scripts is written by hand. Comments are not served.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from chalicelib.chains.catalogue.bridges import SOURCE_SYMBOLS, needs_reset, source_networks
from chalicelib.chains.catalogue.contracts import (
    ACROSS_HANDLER,
    ACROSS_SPOKE_POOL,
    BATCH,
    ERC20_CONVERSION_PROXY,
    ERC20_FEE_PROXY,
    LIFI_DIAMOND,
    LIFI_RECEIVER,
    NATIVE_CONVERSION_PROXY,
    NATIVE_FEE_PROXY,
    TRON_BATCH,
    contracts_on,
)
from chalicelib.chains.catalogue.conversions import payment_currencies
from chalicelib.chains.catalogue.escrows import escrow_contracts
from chalicelib.chains.catalogue.networks import ALL_NETWORKS, Network
from chalicelib.chains.catalogue.tokens import dollar, find_tokens, token_with_id

FOLDER = Path(__file__).parents[2] / "chalicelib" / "pages" / "payment"
WALLET_APPS = Path(__file__).parent / "wallet_apps.json"
"""The links of wallet apps that open a page in their browsers, the documents that say so, and when they were read."""
BEGIN, END = "// Written by `make docs`, up to the next mark: ", "// Up to here."
_WIDTH = 112


def networks() -> str:
    """NETWORKS of identity.js: by network what a response may call it, and its tokens."""
    return _object("NETWORKS", {each.name: list(_identity(each)) for each in ALL_NETWORKS})


def hashes() -> str:
    """HASHES of identity.js: the hashes of currencies that are not tokens and that the contracts convert."""
    found = [each for each in find_tokens() if (each.is_fiat or each.is_native) and payment_currencies(each)]
    entries = [f'{_key(each.id)}: "{each.hash}"' for each in sorted(found, key=lambda each: ("-" in each.id, each.id))]
    return _block("export const HASHES = {", _fill_lines(entries), "};")


def contracts() -> str:
    """CONTRACTS of contracts.js: by network the contracts that take payments, and the hash of the dollar."""
    entries = {each.name: list(_fill_lines(_taking(each))) for each in ALL_NETWORKS}
    return f'export const USD = "{dollar().hash[2:]}";\n' + _object("CONTRACTS", entries, "chain(", ")")


def bridges() -> str:
    """BRIDGES of sources.js, in the order of the interface, and the symbols that are bridged."""
    entries = {each.name: list(_fill_lines(_bridge(each))) for each in source_networks()}
    return f"const SYMBOLS = {_json(SOURCE_SYMBOLS)};\n" + _object("BRIDGES", entries)


def escrows() -> str:
    """ESCROWS of authorize.js: by network the escrow and its collector of pre-approvals."""
    found = [there for each in ALL_NETWORKS if (there := escrow_contracts(each.name, {})) is not None]
    lines = [f"{_key(each.network)}: {_json([each.escrow, each.pre_approval])}," for each in found]
    return _block("export const ESCROWS = {", lines, "};")


def diamond() -> str:
    """DIAMOND of deposits.js. Raises ValueError if LI.FI has not one address on all networks that are paid from."""
    found = {contracts_on(each.name)[LIFI_DIAMOND] for each in source_networks()}
    if len(found) != 1:
        raise ValueError(f"{LIFI_DIAMOND} has several addresses in networks.json, and deposits.js knows one: {found}")
    return f'export const DIAMOND = "{found.pop()}";\n'


def resets() -> str:
    """RESETS of bridge.js: tokens of which an allowance is changed through zero only."""
    found = [f'"{each.address}"' for each in find_tokens() if needs_reset(each)]
    return f"const RESETS = [{', '.join(found)}];\n"


def explorers() -> str:
    """EXPLORERS of outcomes.js: what a transaction's page begins with."""
    return _block("const EXPLORERS = [", _fill_lines(_json(each.explorer_url) for each in ALL_NETWORKS), "];")


def apps() -> str:
    """APPS of apps.js: by wallet app its link, and the networks that it pays on."""
    found = json.loads(WALLET_APPS.read_text(encoding="utf-8"))["apps"]
    lines = [f"{_json([each['name'], each['link'], ' '.join(each['networks'])])}," for each in found]
    return _block("const APPS = [", lines, "];")


PARTS: Mapping[str, Sequence[Callable[[], str]]] = {
    "apps.js": (apps,),
    "authorize.js": (escrows,),
    "bridge.js": (resets,),
    "contracts.js": (contracts,),
    "deposits.js": (diamond,),
    "identity.js": (networks, hashes),
    "outcomes.js": (explorers,),
    "sources.js": (bridges,),
}
"""By script, the parts that are written, each by the function of its name."""


def text_of(script: str) -> str:
    """A script with its parts as the catalogue has them. Raises ValueError if the marks of a part are missing."""
    text = (FOLDER / script).read_text(encoding="utf-8")
    for part in PARTS[script]:
        mark = f"{BEGIN}{part.__name__}\n"
        found = list(re.finditer(f"({re.escape(mark)}).*?({re.escape(END)}\n)", text, re.DOTALL))
        if (count := len(found)) != 1:
            raise ValueError(f"{FOLDER / script} has the lines {mark.strip()!r} and {END!r} {count} times, not once")
        text = text[: found[0].end(1)] + part() + text[found[0].start(2) :]
    return text


def _identity(each: Network) -> Iterator[str]:
    coin = [each.coin.name, each.coin.symbol, each.coin.decimals]
    facts = [each.chain_id, each.title, coin, each.native_currency_id]
    yield f"{', '.join(map(_json, facts))},"
    yield f"{_json([each.confirmations, each.explorer_url, *each.public_rpc_urls])},"
    for token in find_tokens(each.name):
        if not token.is_native:
            yield f'"{token.id.removesuffix(f"-{each.name}")} {token.decimals} {token.address}",'


def _taking(each: Network) -> Iterator[str]:
    there, coin = contracts_on(each.name), token_with_id(each.native_currency_id or "")
    facts = (
        there[ERC20_FEE_PROXY],
        there.get(BATCH, there.get(TRON_BATCH)),
        there.get(NATIVE_FEE_PROXY),
        coin.hash if coin else None,
        there.get(ERC20_CONVERSION_PROXY),
        there.get(NATIVE_CONVERSION_PROXY),
    )
    yield str(each.chain_id)
    known = [_json(fact) if fact is not None else "undefined" for fact in facts]
    while known[-1] == "undefined":
        known.pop()
    yield from known


def _bridge(each: Network) -> Iterator[str]:
    yield _json(each.label)
    there = contracts_on(each.name)
    for contract in (ACROSS_SPOKE_POOL, ACROSS_HANDLER, LIFI_RECEIVER):
        if contract in there:
            yield _json(there[contract])


def _object(name: str, entries: Mapping[str, Sequence[str]], begin: str = "[", end: str = "]") -> str:
    rows = [
        line
        for key, lines in entries.items()
        for line in (f"{_key(key)}: {begin}", *(f"  {line}" for line in lines), f"{end},")
    ]
    return _block(f"export const {name} = {{", rows, "};")


def _block(begin: str, lines: Iterable[str], end: str) -> str:
    return "\n".join([begin, *(f"  {line}" for line in lines), end, ""])


def _fill_lines(entries: Iterable[str]) -> Iterator[str]:
    """Lines of as many entries as fit."""
    line = ""
    for entry in entries:
        if line and len(line) + len(entry) + 2 > _WIDTH:
            yield line
            line = ""
        line += f"{' ' if line else ''}{entry},"
    if line:
        yield line


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z]\w*", name) else f'"{name}"'


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        return int(any((FOLDER / script).read_text(encoding="utf-8") != text_of(script) for script in PARTS))
    for script in PARTS:
        (FOLDER / script).write_text(text_of(script), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
