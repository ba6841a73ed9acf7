"""`python -m covington` is the `covington` command."""

import sys

from covington.cli import main

sys.exit(main())
