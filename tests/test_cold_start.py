from __future__ import annotations

import subprocess
import sys

HEAVY = ("torch._dynamo", "sympy", "numba", "scipy.ndimage", "transformers", "pandas")


def test_the_first_answer_imports_no_compiler(tmp_path) -> None:
    """A small puzzle is read and solved without PyTorch's compiler, numba or SciPy's pictures."""
    program = f"""
import sys
from puzzleflow.core.grid import Grid
from puzzleflow.formats.open import open_puzzles
from puzzleflow.generation.builder import cut_puzzle
from puzzleflow.samples import list_samples, load_sample
from puzzleflow.solvers.relational import RelationalSolver
from puzzleflow.storage.folder import write_folder

cut = cut_puzzle(load_sample(list_samples()[0].name), Grid(2, 2), "none", 0, piece_px=32)
write_folder({str(tmp_path / "cut")!r}, cut)
with open_puzzles({str(tmp_path / "cut")!r}) as source:
    RelationalSolver().prepare(source.read(0).without_truth()).solve(seed=0)
print(*(name for name in {HEAVY!r} if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr
