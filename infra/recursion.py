"""Allows the functions that send messages to their own queues to do so.

AWS Lambda counts how often a function comes in a chain of SQS messages, by the trace header that the SDK sends, and
refuses the message after about 16: it would end as a dead letter. These functions bound their chains themselves
(chalicelib/platform/storage/queue.py), at more messages than that.
"""

from collections.abc import Collection, Iterator
from typing import Any

from infra.iam import function_name

RECURSIVE = ("follow_payment_intent", "follow_relayed", "record_transfers", "retry_webhook")


def allow_recursion(lambda_: Any, stage: str, running: Collection[str]) -> None:
    """Allows those of RECURSIVE that are `running` to continue chains of messages; safe to repeat."""
    for function in (each for each in RECURSIVE if each in running):
        lambda_.put_function_recursion_config(FunctionName=function_name(stage, function), RecursiveLoop="Allow")


def recursion_difference(lambda_: Any, stage: str, function: str) -> Iterator[str]:
    """Yields a line if AWS Lambda does not treat the chains of a function as `allow_recursion` sets it."""
    here = "Allow" if function in RECURSIVE else "Terminate"
    there = lambda_.get_function_recursion_config(FunctionName=function_name(stage, function))["RecursiveLoop"]
    if there != here:
        yield f"{function}: RecursiveLoop is {there}, and {here} here"
