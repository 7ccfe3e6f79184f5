#!/usr/bin/env bash
# The headline tables at the paper's erosion (`gap` masks): every solver on the same held-out puzzles.
# Usage: runs/headline.sh HELD_OUT_PICTURES OUT [SOLVERS]
#   HELD_OUT_PICTURES  made by `puzzleflow train held-out IMAGES --out HELD_OUT_PICTURES`
#   SOLVERS            as for `puzzleflow bench`
# Stopped at any moment, the same line goes on. OUT/reports/*/bench.md are the tables, OUT/jpwleg/jpwleg.md
# is the supplement's.
set -euo pipefail
held_out=$1 out=$2
solvers=${3:-@table1,flow-seams,search-alpha,genetic-kernel-alpha,greedy-alpha}
samples=$(python -c "import puzzleflow.samples as s; print(next(iter(s.__path__)))")
mkdir -p "$out"

measure() {  # NAME, then options of `puzzleflow generate`
  local name=$1
  shift
  puzzleflow generate --out "$out/sets/$name" --splits 0/0/100 --seed 1 --compression none "$@"
  puzzleflow bench "$out/sets/$name" --split test --solvers "$solvers" --workers 2 \
    --out "$out/reports/$name"
}

measure gap-3 --images "$held_out" --limit 250 --per-picture 2 --preset gap-3
measure gap-5 --images "$held_out" --limit 250 --per-picture 2 --preset gap-5
measure vae-3 --images "$held_out" --limit 250 --per-picture 2 --preset gap-3 --erosion vae
measure vae-5 --images "$held_out" --limit 250 --per-picture 2 --preset gap-5 --erosion vae
measure met-3 --images "$samples" --per-picture 2 --preset gap-3
measure met-5 --images "$samples" --preset gap-5
puzzleflow jpwleg --images "$held_out" --held-out --out "$out/jpwleg" --workers 2 \
  --solvers @jpwleg,flow-seams
