"""`python -m attnlab` is `attnlab`."""

from attnlab.cli import run

if __name__ == "__main__":
    run()
