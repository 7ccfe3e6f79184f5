#!/usr/bin/env bash
# The paper's Table 1, all methods on the same puzzles: 500 of GAP-3 and of GAP-5, and the Met pictures.
# Usage: runs/table1.sh HELD_OUT_PICTURES MET_PICTURES OUT [SOLVERS]      (default: @table1)
#   HELD_OUT_PICTURES  made by `puzzleflow train held-out IMAGES --out HELD_OUT_PICTURES`
# Reports in OUT/reports; killed at any moment, the same command goes on where it was.
set -euo pipefail
held_out=$1 met=$2 out=$3 solvers=${4:-@table1}
command=${PUZZLEFLOW:-puzzleflow}

table() {  # NAME, then options of `puzzleflow generate`
  local name=$1
  shift
  $command generate --out "$out/sets/$name" --splits 0/0/100 --seed 1 --compression none "$@"
  $command bench "$out/sets/$name" --split test --solvers "$solvers" --workers "${WORKERS:-2}" \
    --out "$out/reports/$name"
}

table gap-3 --images "$held_out" --limit 250 --per-picture 2 --preset gap-3
table gap-5 --images "$held_out" --limit 250 --per-picture 2 --preset gap-5
table met-3 --images "$met" --preset gap-3
table met-5 --images "$met" --preset gap-5
