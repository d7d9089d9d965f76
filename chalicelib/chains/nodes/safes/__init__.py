"""What chains and the transaction service of Safe say of Safes."""
