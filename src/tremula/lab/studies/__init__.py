"""Studies of the project's own, beside the papers: the same command runs them."""
