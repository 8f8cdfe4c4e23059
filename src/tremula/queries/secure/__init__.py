"""Secure aggregation: the coordinator of several sites learns the sum of their counts, and no site's own counts.

The protocol is that of Bonawitz et al. (2017) with two masks for each site. `site_rounds.py` is the part of a site,
`sums.py` that of the coordinator; `masks.py` and `shares.py` have the arithmetic. Open `site_rounds.py` first.
"""
