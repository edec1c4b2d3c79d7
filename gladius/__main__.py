"""`python -m gladius`: r-hat from a table of choices; `gladius.own_data.command` has it."""

import sys

from gladius.own_data.command import command

if __name__ == "__main__":
    sys.exit(command())
