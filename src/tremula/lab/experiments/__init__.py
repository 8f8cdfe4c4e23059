"""Experiments with stored results: cells are measured in parallel, stored at once, and never measured twice.

`run.py` runs an experiment, `store.py` stores its results, `worker.py` measures one cell.
Open `cell.py` first, then `result.py`.
"""
