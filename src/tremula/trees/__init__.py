"""Single trees: learners (`c45`, `cart`, `id3`, `reptree`, `m5`), growing, pruning, prediction and export.

Open `tree.py` first for the fitted tree, `learner.py` for what the learners share.
"""
