"""Energy and bandwidth of Tron: what a node says of their prices, of an account, and of what calls take."""
