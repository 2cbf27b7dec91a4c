"""`python -m attnlab` is `attnlab`."""

from attnlab.process import set_up

set_up()  # before a file of the working folder can be taken for a module

from attnlab.cli import run  # noqa: E402

if __name__ == "__main__":
    run()
