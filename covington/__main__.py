"""`python -m covington` is the `covington` command."""

import sys

from covington.commands.cli import main

sys.exit(main())
