"""Studies: named experiments, with what others published beside them."""
