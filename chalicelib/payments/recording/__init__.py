"""Recording: deciding for one payable at a time which logged transfers pay it, and undoing what a fork removed."""
