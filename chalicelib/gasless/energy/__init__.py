"""Energy and bandwidth of the operator's stake on Tron, delegated to wallets for single payments."""
