"""Recording: deciding for one link at a time which logged transfers pay it, and undoing what a fork removed."""
