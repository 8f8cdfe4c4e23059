"""Experiments whose results are kept: cells are measured in parallel, stored at once, and never measured twice.

`run.py` runs an experiment, `store.py` keeps its results, `worker.py` measures one cell.
Open `cell.py` first.
"""
