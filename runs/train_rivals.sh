#!/usr/bin/env bash
# Trains the rivals one after the other on the same pictures, masks and minutes; one thread.
# Usage: runs/train_rivals.sh IMAGES OUT MINUTES [NAME...]     (default: every rival)
#   RATES="1e-3"   learning rates; of several the best after a short try on validation is taken
#   MASKS="gap"    as in `puzzleflow train --masks`
#   CACHE=DIR      of decoded pictures and drawn masks (default: OUT/cache)
#   TRY=0.4        minutes of a try (default: a fifteenth of MINUTES, at least 0.3)
#   VALIDATION=100 held-out puzzles
#   PUZZLEFLOW=... the command, if it is not `puzzleflow`
# A try measures how fast the machine is, so that the learning rate falls to its end within
# MINUTES. Killed at any moment, the same command goes on where it was.
set -euo pipefail
images=$1 out=$2 minutes=$3
shift 3
if [ $# -eq 0 ]; then
  set -- fcvit fcvit+ diffassemble diffassemble+ jpdvt jpdvt+ puzlm puzlm+ jigsawgan jigsawgan+ \
    deepzzle sd2rl pdn-ga
fi
rates=${RATES:-1e-3} command=${PUZZLEFLOW:-puzzleflow}
export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
mkdir -p "$out"

train() {  # NAME FOLDER RATE STEPS MINUTES, then further options
  local name=$1 folder=$2 rate=$3 steps=$4 limit=$5
  shift 5
  $command train "$name" --data "$images" --masks "${MASKS:-gap}" --cache "${CACHE:-$out/cache}" \
    --out "$folder" --initial bundled --rate "$rate" --steps "$steps" --minutes "$limit" --workers 0 \
    --validation-grids 3x3 --num-validation "${VALIDATION:-100}" "$@"
}

best() {  # FOLDER of tries: the rate with the best score, and the steps that fit into MINUTES
  python3 - "$1" "$minutes" <<'PYTHON'
import json, sys
from pathlib import Path

tries = []
for log in Path(sys.argv[1]).glob("*/log.jsonl"):
    last = json.loads(log.read_text().splitlines()[-1])
    tries.append((last["val"]["score"], last["step"] / max(last["minutes"], 0.01), log.parent.name))
score, speed, rate = max(tries)
print(rate, max(50, round(speed * float(sys.argv[2]))))
PYTHON
}

for name in "$@"; do
  weights=$out/$name.safetensors plan=$out/$name/plan
  [ -e "$weights" ] && continue
  mkdir -p "$out/$name/tries"
  if [ ! -e "$plan" ]; then
    try=${TRY:-$(python3 -c "print(max(0.3, $minutes / 15))")}
    for rate in $rates; do
      [ -e "$out/$name/tries/$rate/$name.safetensors" ] ||
        train "$name" "$out/$name/tries/$rate" "$rate" 100000 "$try" --set warmup=0.0003 \
          --set validate_every=100000
    done
    best "$out/$name/tries" >"$plan.part" && mv "$plan.part" "$plan"
  fi
  read -r rate steps <"$plan"
  train "$name" "$out/$name/run" "$rate" "$steps" "$(python3 -c "print(1.4 * $minutes)")" \
    --set validate_every=$((steps / 6 + 1)) --set log_every=25
  size=$(wc -c <"$out/$name/run/$name.safetensors")
  [ "$size" -le 4000000 ] || echo "$name: $size bytes, more than 4 MB" >&2
  cp "$out/$name/run/$name.safetensors" "$weights.part" && mv "$weights.part" "$weights"
  echo "$name: rate $rate, $steps steps, $size bytes"
done
