"""The checks of the lessons' exercises, and the options of the chapters' scripts."""
