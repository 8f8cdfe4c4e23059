"""Studies of the project itself; ``tremula reproduce`` runs them too."""
