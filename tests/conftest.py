"""Tests share two cores: numeric libraries get one thread each, and no test a deadline."""

import os

from hypothesis import settings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

settings.register_profile("shared machine", deadline=None)
settings.load_profile("shared machine")
