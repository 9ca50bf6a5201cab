"""What only the lessons use: exercises and their checks, experiments, figures."""
