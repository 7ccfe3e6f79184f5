#!/usr/bin/env bash
# Every figure of docs/free-form.md: broken test pictures, Derech's series turned, JigsawNet.
#   runs/free_form.sh IMAGES FREEFORM OUT [SETS]
# IMAGES is the folder of pictures that training used (its test part is broken), FREEFORM holds
# derech and jigsawnet. SOLVERS=assemble takes that one alone. Stopped at any moment, the same command goes on.
set -euo pipefail
images=$1 published=$2 out=$3 sets=${4:-20}
solvers=${SOLVERS:-assemble,assemble:learned=false,extrapolate-greedy}
puzzleflow train held-out "$images" --out "$out/pictures" --split test
for gap in mild repair heavy; do
  puzzleflow fracture --images "$out/pictures" --out "$out/sets/$gap" --gap "$gap" \
    --fragments 5-12 --sets "$sets" --seed 11 --workers 1
done
puzzleflow fracture --images "$out/pictures" --out "$out/sets/open" --gap mild --fragments 8-12 \
  --sets "$((sets / 2))" --seed 12 --missing 0.15 --foreign 0.2 --workers 1
python runs/free_form_turned.py "$published/derech" "$out/sets/derech"
for name in mild repair heavy open derech; do
  puzzleflow bench "$out/sets/$name" --solvers "$solvers" --out "$out/bench/$name"
done
for name in MIT_ex BGU_ex; do
  puzzleflow bench "$published/jigsawnet/$name" --solvers "$solvers" --out "$out/bench/$name"
done
