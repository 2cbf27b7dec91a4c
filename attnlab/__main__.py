"""`python -m attnlab` is `attnlab`."""

import sys

if __name__ == "__main__":
    # Python looks for modules in the working folder first: a user's file random.py would be
    # imported in place of Python's own.
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]
    from attnlab.cli import main

    main()
