"""Checks of what one node says of payments: by the other nodes, by headers, and by the tokens' own logs."""
