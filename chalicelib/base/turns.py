"""Turns of accounts, so that who has much to be done holds nobody else up."""

from collections.abc import Callable, Iterable
from itertools import zip_longest
from typing import TypeVar

T = TypeVar("T")


def in_turn(items: Iterable[T], account_of: Callable[[T], str]) -> list[T]:
    """The items in another order: one of each account in turn, those of an account as they were. So an account with
    many of them holds those of others up by one each."""
    by_account = dict[str, list[T]]()
    for item in items:
        by_account.setdefault(account_of(item), []).append(item)
    return [item for turn in zip_longest(*by_account.values()) for item in turn if item is not None]
