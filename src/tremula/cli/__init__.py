"""The command line: words in, tables and files out."""
