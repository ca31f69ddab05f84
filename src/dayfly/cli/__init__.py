"""The command line, a thin shadow of the library."""
