"""Compiled loops: arrays in, arrays filled; no policy and no checks."""
