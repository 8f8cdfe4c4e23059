"""One tree: its arrays, how it is grown, pruned, routed through and written out."""
