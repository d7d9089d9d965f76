"""What the nodes of networks are asked with: HTTP with limits of time and size, JSON-RPC, and its hex values."""
