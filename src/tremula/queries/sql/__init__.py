"""Answers from tables in databases, through ibis."""
