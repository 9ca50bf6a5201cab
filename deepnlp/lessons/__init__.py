"""What the lessons and chapters use: exercises and their checks, options of a script."""
