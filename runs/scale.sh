#!/usr/bin/env bash
# What docs/benchmarks.md and docs/scale.md say of throughput, large puzzles and clusters; two free cores.
# Usage: runs/scale.sh HELD_OUT_PICTURES OUT
#   HELD_OUT_PICTURES  made by `puzzleflow train held-out IMAGES --out HELD_OUT_PICTURES`
set -euo pipefail
held_out=$1 out=$2
mkdir -p "$out"
export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

large() {
  python -m benchmarks.large --images "$held_out" "$@"
}

python -m benchmarks.throughput --puzzles 1000 --workers 2 | tee "$out/throughput.txt"
python -m benchmarks cluster > "$out/cluster.txt" &
large --out "$out/eroded.jsonl" --grids 20 --solvers relational --erosion gap --own-px 64 --puzzles 2
wait
large --out "$out/large.jsonl" --solvers genetic-kernel
large --out "$out/large.jsonl" --figure "$out/large.png" | tee "$out/large.txt"
cat "$out/cluster.txt"
