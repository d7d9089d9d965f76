"""`make load`: merchants and payers on the stack that `make local` runs, for some seconds; every operation's figures.

    python -m tests.load --seconds 60 --users 6

A stage elsewhere (--stack, a description with the fields of .local/stack.json) is refused without --yes: its payments
are real.

Times depend on the machine, so each operation is compared with a bare Chalice route that the same users call meanwhile,
served as the stack serves the app. Beside it stands what the model of docs/capacity.md says of the operation, in the
same unit, and how many deliveries a payment had by the model. Exit status 1 if anything failed, 2 without a stack.
"""

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from infra.local.process import LOCAL, ROOT
from infra.local.runner import Runner
from infra.local.stack import DESCRIPTION
from tests.bench.deployment import local_settings
from tests.bench.figures import Figure, table

LOCUST = LOCAL / "load-venv" / "bin" / "locust"
REPORT = LOCAL / "load.json"
BARE, DELIVERED, SET_UP = "bare route", "webhook", "set up"
NETWORK, CURRENCY = "sepolia", "fUSDC-sepolia"
COINS, TOKENS = 10**18, 1_000
"""What each wallet gets: base units of the native coin, and whole tokens."""
MODELLED = {
    "create": "create the link",
    "read": "ask whether it is paid",
    "pay": "say what to sign",
}
"""The operations of the load that are steps of the model."""
LAST_TASKS_SECONDS = 120


@dataclass(frozen=True)
class Operation:
    """What Locust measured of one operation. Times are in milliseconds; `times` are whole ones, with their calls."""

    name: str
    calls: int
    failures: int
    average: float
    times: Mapping[int, int]

    def most(self) -> int:
        """The time within which 95 % of the calls were answered."""
        passed = 0
        for taken, count in sorted(self.times.items()):
            passed += count
            if passed >= 0.95 * self.calls:
                return taken
        return 0


def operations(printed: str) -> list[Operation]:
    """What Locust printed, without what it did to begin with."""
    rows = json.loads(printed)
    found = [
        Operation(
            each["name"],
            each["num_requests"],
            each["num_failures"],
            each["total_response_time"] / max(each["num_requests"], 1),
            {int(taken): count for taken, count in each["response_times"].items()},
        )
        for each in rows
    ]
    return sorted((each for each in found if each.name != SET_UP), key=lambda each: each.name)


def figures(measured: Sequence[Operation]) -> list[Figure]:
    """Each operation compared with the bare route: what its calls took on average, and 95 % of them at most."""
    bare = next(each for each in measured if each.name == BARE)
    found = []
    for each in measured:
        if each.name not in (BARE, DELIVERED):
            found.append(Figure(f"{each.name}, {each.calls} calls", each.average, "ms", BARE, bare.average))
            found.append(Figure(f"{each.name}, 95 % within", each.most(), "ms", BARE, max(bare.most(), 1)))
    return found


def modelled() -> tuple[dict[str, float], float]:
    """What the model says: (how many times the time of a bare route each operation takes, deliveries of a payment)."""
    from tests.bench.steps import OVERHEAD_SECONDS, payment_steps

    steps = {each.name: each for each in payment_steps()}
    ratios = {name: steps[step].seconds / OVERHEAD_SECONDS for name, step in MODELLED.items()}
    return ratios, steps["deliver a webhook"].times


def hosts_elsewhere(stack: Mapping[str, Any]) -> list[str]:
    """The hosts of a stack's API and node that are not this machine."""
    hosts = {urlsplit(url).hostname or url for url in (stack["base_url"], stack["rpc"][NETWORK])}
    return sorted(hosts - {"localhost", "127.0.0.1", "::1"})


def fund(stack: Mapping[str, Any], count: int) -> list[str]:
    """Private keys of new wallets, to which the stack's payer has sent coins and tokens."""
    sys.path.append(str(ROOT / "infra" / "local" / "outsiders"))
    from eth_account import Account
    from payer import Payer

    from chalicelib.chains.catalogue.tokens import token_with_id

    token = token_with_id(CURRENCY)
    assert token is not None
    payer, keys = Payer(stack["rpc"][NETWORK], stack["payer"]["private_key"]), []
    for _ in range(count):
        keys.append(f"0x{secrets.token_hex(32)}")
        address = Account.from_key(keys[-1]).address
        units = TOKENS * 10**token.decimals
        payer.pay({"to": address, "data": "0x", "value": COINS})
        data = f"0xa9059cbb{address[2:].lower():0>64}{units:064x}"  # transfer(address,uint256)
        payer.pay({"to": token.address, "data": data, "value": 0})
    return keys


def run(stack: Mapping[str, Any], seconds: int, users: int) -> int:
    """Runs the load and prints its figures; the exit status."""
    os.environ.update({name: value for name, value in local_settings().items() if name not in os.environ})
    ratios, deliveries = modelled()
    from tests.bench.bare_app import app as bare_app

    with Runner(bare_app) as bare, tempfile.TemporaryDirectory() as folder:
        received = Path(folder, "received.json")
        load: dict[str, Any] = {"stack": stack, "bare_url": f"{bare.url}/", "report": str(received)}
        load |= {"wallets": fund(stack, users), "deliveries_of_a_payment": deliveries}
        profile = ROOT / "tests" / "load" / "profile.py"
        command = [str(LOCUST), "--headless", "--json", "--skip-log", "--locustfile", str(profile), f"--users={users}"]
        command += [f"--spawn-rate={users}", f"--run-time={seconds}s", f"--stop-timeout={LAST_TASKS_SECONDS}"]
        variables = {name: text for name, text in os.environ.items() if not name.startswith("AWS_")}
        variables |= {"LOAD": json.dumps(load), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True, check=False)
        if not received.exists():
            print(f"Locust ended with status {done.returncode} before it measured anything.", file=sys.stderr)
            return 1
        return conclude(operations(done.stdout), json.loads(received.read_text()), ratios, deliveries, seconds)


def conclude(
    measured: Sequence[Operation],
    received: Mapping[str, Any],
    ratios: Mapping[str, float],
    deliveries: float,
    seconds: int,
) -> int:
    """Prints and writes the figures; status 1 if anything failed, or a payment had other deliveries than modelled."""
    compared = figures(measured)
    print(table(compared))
    said = ", ".join(f"{name} {ratio:.1f} x" for name, ratio in sorted(ratios.items()))
    print(f"  by the model, with the times of AWS and of a node's provider: {said}")
    calls, failed = sum(each.calls for each in measured), sum(each.failures for each in measured)
    payments, count = received["payments"], sum(received["deliveries"].values())
    arrival = next((each for each in measured if each.name == DELIVERED), None)
    print(f"  {calls} calls in {seconds} s, {failed} failed; {payments} payments on the chain")
    for line in received["errors"]:
        print(f"  {line}")
    if arrival is not None and payments:
        average, most = arrival.average / 1000, arrival.most() / 1000
        print(f"  from the block of a payment to its webhook: {average:.1f} s on average, 95 % within {most:.1f} s")
        print(f"  deliveries of a payment: {count / payments:.2f}, and {deliveries:.2f} by the model")
    REPORT.write_text(
        json.dumps(
            {
                "figures": [each.as_json() for each in compared],
                "ratios_by_the_model": dict(ratios),
                "seconds": seconds,
                "calls": calls,
                "failed": failed,
                "payments": payments,
                "deliveries_of_a_payment": count / payments if payments else None,
                "deliveries_by_the_model": deliveries,
            },
            indent=2,
        )
    )
    return 0 if payments and not failed and not received["forged"] and count == deliveries * payments else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load", description="Put load on a running `make local`.")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--users", type=int, default=6)
    parser.add_argument("--stack", type=Path, default=DESCRIPTION, help="the description of a running stack")
    parser.add_argument("--yes", action="store_true", help="also where the stack is not on this machine")
    arguments = parser.parse_args()
    if not arguments.stack.exists():
        print("No local stack is running here: start one with `make local`.", file=sys.stderr)
        return 2
    stack = json.loads(arguments.stack.read_text())
    if not arguments.yes and (hosts := hosts_elsewhere(stack)):
        print(f"The load would pay at {', '.join(hosts)}. Give --yes if it should.", file=sys.stderr)
        return 2
    return run(stack, arguments.seconds, arguments.users)


if __name__ == "__main__":
    sys.exit(main())
