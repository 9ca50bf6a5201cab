"""Files: read with a limit, written as a whole, arrays in archives, tables of text."""
