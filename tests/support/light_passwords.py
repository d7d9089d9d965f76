"""Hashes of passwords that cost little, for tests of what is done with passwords."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from chalicelib.accounts.sign_in import passwords


@contextmanager
def light_passwords() -> Iterator[None]:
    """Hashes of 1 MiB and one pass. What a real one costs, and that nobody's costs the same, test_passwords.py tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "MEMORY_KIB", 1024)
        patch.setattr(passwords, "PASSES", 1)
        nobodys = passwords.password_hash("nobody's password", bytes(passwords.SALT_BYTES))
        patch.setattr(passwords, "DUMMY_HASH", nobodys)
        yield
