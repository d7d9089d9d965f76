"""ERC-7730 descriptors: how a wallet shows on its own screen what it is asked to sign."""
