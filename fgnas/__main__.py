"""The program, as `python -m fgnas`."""

import sys

from fgnas.cli import main

sys.exit(main())
