"""The paper's shape statistics (supplement, Table "Detailed summary statistics", N = 958 each)."""

from __future__ import annotations

from puzzleflow.generation.fidelity import Summary
from puzzleflow.generation.geometry import FEATURES

SOURCE = "The Missing GAP, supplement"
COUNT = 958

# mean, sd, median, minimum, maximum, interquartile range, in the order of FEATURES
_REAL = (
    (10617, 1333, 10598, 7245, 14821, 1746),
    (451.95, 29.72, 449.80, 370.2, 542.6, 39.8),
    (1.001, 0.023, 0.998, 0.945, 1.089, 0.031),
    (0.931, 0.027, 0.935, 0.845, 0.986, 0.036),
    (0.655, 0.068, 0.661, 0.471, 0.812, 0.089),
    (19.47, 2.90, 19.23, 13.12, 28.61, 3.81),
    (9.73, 2.12, 10, 5, 16, 3),
    (19.79, 3.62, 20, 11, 31, 5),
)
_SYNTHETIC = (
    (10716, 863, 10705, 8012, 13254, 1142),
    (434.88, 27.60, 433.10, 361.7, 518.4, 36.2),
    (0.996, 0.055, 0.993, 0.842, 1.178, 0.072),
    (0.936, 0.030, 0.941, 0.831, 0.991, 0.040),
    (0.718, 0.081, 0.726, 0.504, 0.895, 0.107),
    (17.78, 2.41, 17.53, 11.92, 25.42, 3.16),
    (11.78, 2.03, 12, 6, 18, 3),
    (23.01, 3.74, 23, 13, 35, 5),
)

REAL = {name: Summary(*row) for name, row in zip(FEATURES, _REAL, strict=True)}
SYNTHETIC = {name: Summary(*row) for name, row in zip(FEATURES, _SYNTHETIC, strict=True)}
