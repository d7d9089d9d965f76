"""Claims of those whose wallet is asked to pay a link."""
