"""Saving and loading models: one file of arrays and JSON, without pickle.

A file is written completely or not at all, and loads to a model with the same predictions, bit for bit.
Open `archive.py` first; `registry.py` says how a class becomes storable.
"""
