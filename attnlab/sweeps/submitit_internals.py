"""What submitit and Hydra's launcher for it don't offer, as in submitit 1.5.4."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def every_result() -> Iterator[None]:
    """Have Hydra's launcher wait for all of its jobs.

    Otherwise the first one without a result, as when a cluster ends it, would end the waiting.
    """
    from hydra.core.utils import JobReturn, JobStatus
    from submitit import Job
    from submitit.core.utils import FailedJobError, UncompletedJobError

    def results(self: Any) -> list[Any]:
        try:
            return original(self)
        except (FailedJobError, UncompletedJobError) as error:
            return [JobReturn(status=JobStatus.FAILED, _return_value=error)]

    original = Job.results
    Job.results = results  # type: ignore[method-assign]
    try:
        yield
    finally:
        Job.results = original  # type: ignore[method-assign]


def was_ended(result: object) -> bool:
    """Whether a job has no result because the system ended it."""
    from submitit.core.utils import FailedJobError, UncompletedJobError

    return isinstance(result, (FailedJobError, UncompletedJobError))
