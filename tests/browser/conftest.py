"""What the tests run in a browser, or under Pyodide, is not imported here for doctests."""

collect_ignore = ["lessons.py", "lite.py", "program.py"]
