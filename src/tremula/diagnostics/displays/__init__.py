"""Figures of the diagnostics, one file each; matplotlib is imported when something is drawn."""
