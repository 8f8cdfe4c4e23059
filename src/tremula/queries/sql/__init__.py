"""Answers from tables in databases, through ibis; `oracle` is the place to start."""
