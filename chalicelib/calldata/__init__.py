"""Calldata: the bytes a wallet sends, one module per family of contracts."""


