"""What is sealed with a data key: opened with the same key for the same place, and by nothing else."""

import base64
import hashlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.platform.privacy import flows
from chalicelib.platform.privacy.rules import KEY_BYTES, open_text, seal_text
from chalicelib.platform.storage.store import Delete
from tests.fakes.world import World

KEYS = st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES)
_count = itertools.count()


def entropy(length: int) -> bytes:
    return hashlib.shake_256(str(next(_count)).encode()).digest(length)


@given(key=KEYS, place=st.text(max_size=40), text=st.text(max_size=300))
def test_a_text_is_opened_as_it_was_sealed(key: bytes, place: str, text: str) -> None:
    assert open_text(key, place, seal_text(key, place, text, entropy)) == text


def test_the_bytes_are_those_of_the_published_vector() -> None:
    """Test case 14 of the specification of GCM (McGrew and Viega): key, nonce and text are zeros."""
    tag, ciphertext = "d0d1c8a799996bf0265b98b5d48ab919", "cea7403d4d606b6e074ec5d3baf39d18"
    wanted = base64.b64encode(bytes(12) + bytes.fromhex(tag + ciphertext)).decode()
    assert seal_text(bytes(32), "", "\0" * 16, bytes) == wanted
    assert open_text(bytes(32), "", wanted) == "\0" * 16


@given(text=st.text(min_size=8, max_size=100))
def test_the_ciphertext_shows_nothing_and_differs_each_time(text: str) -> None:
    key = bytes(KEY_BYTES)
    first, second = (seal_text(key, "payer", text, entropy) for _ in range(2))
    assert first != second
    assert text.encode() not in base64.b64decode(first)


@given(key=KEYS, position=st.integers(min_value=0), bit=st.integers(0, 7))
def test_a_changed_bit_is_noticed(key: bytes, position: int, bit: int) -> None:
    raw = bytearray(base64.b64decode(seal_text(key, "payer", "Ada", entropy)))
    raw[position % len(raw)] ^= 1 << bit
    with pytest.raises(ValueError, match="MAC"):
        open_text(key, "payer", base64.b64encode(raw).decode())


@pytest.mark.parametrize(("key", "place"), [(b"\1" * KEY_BYTES, "payer"), (bytes(KEY_BYTES), "account/1")])
def test_another_key_or_place_does_not_open_it(key: bytes, place: str) -> None:
    with pytest.raises(ValueError, match="MAC"):
        open_text(key, place, seal_text(bytes(KEY_BYTES), "payer", "Ada", entropy))


def test_a_data_key_is_stored_encrypted_for_its_person_and_gone_with_its_record(world: World) -> None:
    record, key = flows.new_key(world.services, "person")
    assert base64.b64encode(key).decode() == record.wrapped.removeprefix("person#person:")
    assert flows.data_key(world.services, "person") is None
    world.services.store.write(record)
    assert flows.data_key(world.services, "person") == key
    assert flows.data_key(world.services, "another") is None
    stored = world.services.store.get(type(record), record.key)
    assert stored is not None
    world.services.store.write(Delete(stored))
    assert flows.data_key(world.services, "person") is None, "no process keeps a plain key"
