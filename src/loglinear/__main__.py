"""``python -m loglinear``: the command line, where the folder of its script is not on the search path."""

from loglinear.cli import main

main()
