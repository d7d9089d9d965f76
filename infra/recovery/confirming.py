"""Asks an operator before a command takes something away."""

import sys


def is_confirmed(what: str, stage: str) -> bool:
    """Whether the operator, who is told what the command does, types the name of the stage. If not, says so."""
    print(f"{what}. Type the name of the stage to go on: ", end="", flush=True)
    if sys.stdin.readline().strip() == stage:
        return True
    print("\nNothing was changed, as that is not its name.", file=sys.stderr)
    return False
