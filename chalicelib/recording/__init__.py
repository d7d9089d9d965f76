"""Recording: deciding for one bill at a time which logged transfers pay it, and undoing what a fork removed."""
