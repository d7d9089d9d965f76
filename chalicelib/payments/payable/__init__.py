"""What is paid together and what is due for it, also in another currency."""
