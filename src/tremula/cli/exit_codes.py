"""The exit codes of the command; 0 is success, and 2 a wrong option by convention."""

EXIT_UNEXPECTED = 1
EXIT_BAD_INPUT = 3
EXIT_FILE_ERROR = 4
EXIT_CELLS_FAILED = 5
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141  # as of any program that writes to a closed pipe, such as that to ``head``
