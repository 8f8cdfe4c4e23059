"""The laboratory: which methods are compared, on which data, by which protocol."""
