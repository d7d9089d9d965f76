"""Seals and opens texts with a data key: AES-256-GCM, in base64 of nonce (12 bytes), tag (16) and ciphertext."""

import base64

from chalicelib.base.ids import Entropy

KEY_BYTES = 32
_NONCE_BYTES, _TAG_BYTES = 12, 16


def seal_text(key: bytes, place: str, text: str, entropy: Entropy) -> str:
    """The ciphertext of a text. It can be opened for the same `place` only, so that none is taken for another."""
    from Crypto.Cipher import AES

    nonce = entropy(_NONCE_BYTES)
    cipher = AES.new(key, AES.MODE_GCM, nonce=nonce)
    cipher.update(place.encode())
    ciphertext, tag = cipher.encrypt_and_digest(text.encode())
    return base64.b64encode(nonce + tag + ciphertext).decode()


def open_text(key: bytes, place: str, ciphertext: str) -> str:
    """The text that was sealed. Raises ValueError if key or place is another one, or if the ciphertext was changed."""
    from Crypto.Cipher import AES

    raw = base64.b64decode(ciphertext)
    nonce, tag = raw[:_NONCE_BYTES], raw[_NONCE_BYTES : _NONCE_BYTES + _TAG_BYTES]
    cipher = AES.new(key, AES.MODE_GCM, nonce=nonce)
    cipher.update(place.encode())
    return cipher.decrypt_and_verify(raw[_NONCE_BYTES + _TAG_BYTES :], tag).decode()
