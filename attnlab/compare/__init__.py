"""Groups of runs held against each other; as a function `api.functions.compare`."""

import sys

from attnlab import CallablePackage

sys.modules[__name__].__class__ = CallablePackage
