"""How time and memory of causal attention grow with the length of the sequence.

    python scripts/bench_attention.py

Forward and backward of one layer over its own past, compiled by XLA and as TensorFlow's graph: a
table of milliseconds and of peak memory, each measured in a process of its own. Lines: time for
four times the length, which is 4 if it grows linearly and 16 if it grows with the square. Exit code
1: a bound is missed.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

from measuring import missed, report

LENGTHS = (256, 512, 1024, 2048, 4096)
UNITS, HEADS = 64, 4
MECHANISMS = {  # name -> option and settings
    "multi_head": ("multi_head", {}),
    "window of 64": ("multi_head", {"window": 64}),
    "linear": ("linear", {}),
    "delta": ("delta", {}),
    "gated_delta": ("gated_delta", {}),
}
LINEAR = ("window of 64", "linear", "delta", "gated_delta")
MOST = 6.0  # times the time for four times the length, of those that grow linearly


def measure(name: str, length: int, jit: bool) -> dict[str, float]:
    """Return seconds of a call, the least of five, and megabytes that the calls took."""
    import numpy as np
    import tensorflow as tf

    from attnlab.config.options import option_class

    option, settings = MECHANISMS[name]
    layer = option_class("attention", option)(heads=HEADS, **settings)
    layer.build((None, length, UNITS), (None, length, UNITS))
    weights = [each.value for each in layer.trainable_weights]

    @tf.function(jit_compile=jit, autograph=False)
    def gradients(vectors):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(vectors, vectors, causal=True).context ** 2)
        return tape.gradient(loss, weights)

    def seconds(vectors) -> float:
        start = time.perf_counter()
        gradients(vectors)[0].numpy()
        return time.perf_counter() - start

    vectors = tf.constant(np.random.default_rng(0).normal(size=(1, length, UNITS)), "float32")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds(vectors)
    taken = [seconds(vectors) for _ in range(5)]
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": min(taken), "megabytes": (after - before) / 1024}


def measured(name: str, length: int, jit: bool) -> dict[str, float]:
    """Run `measure` in a process of its own."""
    words = [sys.executable, __file__, name, str(length), str(int(jit))]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    """Print a table per compiler, and the growth from 1,024 to 4,096 steps."""
    for jit in (True, False):
        compiler = "XLA" if jit else "graph"
        print(f"{compiler}: ms and MB at T =", *LENGTHS)
        for name in MECHANISMS:
            found = [measured(name, length, jit) for length in LENGTHS]
            cells = (f"{each['seconds'] * 1e3:.1f}/{each['megabytes']:.0f}" for each in found)
            print(f"  {name:<12}", *cells, flush=True)
            if name in LINEAR:
                growth = found[-1]["seconds"] / found[-3]["seconds"]
                report(f"{name}, {compiler}: T 4096 / T 1024", growth, MOST, False)
    return 1 if missed else 0


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), sys.argv[3] == "1")))
        sys.exit()
    sys.exit(main())
