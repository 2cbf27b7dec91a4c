"""What joblib does not offer to others, as it is in joblib 1.6.0 with the loky inside it."""

from __future__ import annotations


def end_workers() -> None:
    """End joblib's processes, which it would keep for minutes with all their memory."""
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown(wait=True, kill_workers=True)


def worker_count(wanted: int) -> int:
    """How many processes `n_jobs` stands for."""
    import joblib

    return joblib.effective_n_jobs(wanted)
