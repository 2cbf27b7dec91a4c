"""One run: trained epoch by epoch, recorded, loaded again; as a function `api.functions.run`."""

import sys

from attnlab import CallablePackage

sys.modules[__name__].__class__ = CallablePackage
