"""Reports: results as one plain dict, and the dict as a page."""
