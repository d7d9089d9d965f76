"""What pays out, or rescues, what has arrived at the address of a request for plain transfers."""
