#!/usr/bin/env bash
# The default solver beside the baselines of the open world, in one report a condition.
# Usage: runs/open_baselines.sh HELD_OUT_PICTURES OUT [DIFFASSEMBLE_RUN]
#   HELD_OUT_PICTURES  made by `puzzleflow train held-out IMAGES --out HELD_OUT_PICTURES`
#   DIFFASSEMBLE_RUN   of `puzzleflow train diffassemble --turned --missing 0.35`: joins where it can
# PICTURES=30 WORKERS=2 EROSION=gap CONDITIONS="turned-3 missing-2" take fewer, or others.
set -euo pipefail
pictures=$1 out=$2 learnt=${3:-}
diffassemble=${learnt:+,diffassemble:weights=$learnt/diffassemble.safetensors}
wanted=${CONDITIONS:-turned-3 turned-5 missing-2 foreign-2 hidden}

measure() {  # NAME, SOLVERS, then options of `puzzleflow generate`
  local name=$1 solvers=$2
  shift 2
  [[ " $wanted " == *" $name "* ]] || return 0
  puzzleflow generate --images "$pictures" --out "$out/sets/$name" --splits 0/0/100 --seed 1 \
    --limit "${PICTURES:-100}" --compression none --erosion "${EROSION:-gap}" "$@"
  puzzleflow bench "$out/sets/$name" --split test --solvers "$solvers" \
    --workers "${WORKERS:-2}" --out "$out/reports/$name"
}

copies=relational,search-alpha,linear,linear-alpha,tree-alpha$diffassemble
measure turned-3 "$copies" --preset gap-3 --turned
measure turned-5 "$copies" --preset gap-5 --turned
measure missing-2 "relational,search-alpha$diffassemble" --preset gap-3 --missing 0.222
measure foreign-2 relational,search-alpha --preset gap-3 --foreign 0.222
measure hidden relational,search-alpha --grid 3x4 --hide-grid
