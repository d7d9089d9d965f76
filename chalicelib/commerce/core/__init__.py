"""Commerce payments of requests: money that is held in an escrow on a chain until it is captured or given back."""
