"""What the MLflow models of earlier versions name as their loader; see `attnlab.run.loading`."""

from attnlab.run.loading import _load_pyfunc as _load_pyfunc
