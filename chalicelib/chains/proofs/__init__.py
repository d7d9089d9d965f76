"""What a block header proves of the logs of its block: pure rules over what nodes answer."""
