"""A merchant and a payer of a running stack, who use only HTTP and JSON-RPC and import nothing of the service.

    python infra/local/outsiders/scenario.py .local/stack.json [--kind single,batch] [--stay]

Creates links, requests or payouts of the named kinds, reads them, pays them on the chain and waits for the webhooks.
Prints a line per step: what was done, the result, the seconds. Exits with status 0 if every step succeeded, else 1.
--stay then creates a link to be paid by hand and prints further deliveries.
"""

import argparse
import importlib
import json
import sys
import time
from pathlib import Path

from demo import Demo, Failed
from offer import offer


def main() -> int:
    parser = argparse.ArgumentParser(description="Pay links and requests at a running stack.")
    parser.add_argument("stack", type=Path, help="the description of the stack: .local/stack.json")
    parser.add_argument("--kind", default="single", help="what to pay, with commas between; see pay_*.py")
    parser.add_argument("--stay", action="store_true", help="go on printing deliveries until interrupted")
    arguments = parser.parse_args()
    stack, started = json.loads(arguments.stack.read_text()), time.monotonic()
    demo = Demo(stack)
    try:
        demo.register_webhook()
        for kind in arguments.kind.split(","):
            importlib.import_module(f"pay_{kind.replace('-', '_')}").run(demo)
    except Failed as failure:
        print(f"FAILED at {failure}", flush=True)
        return 1
    print(f"Every step held ({time.monotonic() - started:.1f} s).", flush=True)
    urls = {"service": stack["base_url"], "cloud": stack["aws_url"], **stack["rpc"], "webhooks": demo.receiver_url}
    for name, url in urls.items():
        print(f"     {name:<12} {url}", flush=True)
    if arguments.stay:
        print("Running until Ctrl-C.", flush=True)
        offer(stack)
        demo.stay()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
