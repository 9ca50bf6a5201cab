#!/usr/bin/env bash
# A session on a borrowed NVIDIA GPU, the most valuable first:
#
#   bash benchmarks/gpu_session.sh                      # 40 minutes into runs/gpu
#   MINUTES=20 OUT=/mnt/gpu bash benchmarks/gpu_session.sh
#   DRY=1 bash benchmarks/gpu_session.sh                # only say what would be done
#
# Called again it goes on: what is done is not repeated, trainings are resumed. At the end of the time
# trainings are interrupted, so that they write a checkpoint. What a step prints is in OUT/STEP.log.
# On an H100 the tests take half a minute with two processes, and an epoch of the Penn Treebank 8 s
# alone, 10 s with three more beside it.
# Afterwards, on any machine:
#
#   deepnlp reproduce table1 --take runs/gpu/reproduce/table1    # finished rows, and the page
#   deepnlp bench --page docs/maintaining/performance.md --out runs/gpu/benchmarks
set -uo pipefail
cd "$(dirname "$0")/.."

MINUTES=${MINUTES:-40}
OUT=${OUT:-runs/gpu}
PYTHON=${PYTHON:-python}
end=$(($(date +%s) + 60 * MINUTES))
mkdir -p "$OUT/done"

left() { echo $((end - $(date +%s))); }

# step NAME MOST COMMAND...: unless it is done, for MOST seconds or what is left of the time
step() {
    local name=$1 most=$2 code
    shift 2
    if [ -n "${DRY:-}" ]; then
        printf '%s\t%s\t' "$name" "$most"
        printf '%q ' "$@"
        echo
        return
    fi
    [ -e "$OUT/done/$name" ] && return
    local seconds=$(($(left) < most ? $(left) : most))
    [ "$seconds" -lt 20 ] && return
    echo "$(date +%T)  $name, at most $seconds s"
    # a job in the background begins with interrupts ignored
    env --default-signal=INT timeout --signal=INT --kill-after=60 "$seconds" "$@" \
        >>"$OUT/$name.log" 2>&1
    code=$?
    [ $code = 0 ] && touch "$OUT/done/$name"
    echo "$(date +%T)  $name ended with $code"
}

# train NAME MOST RECIPE [OPTION...]: a training, begun or resumed
train() {
    local name=$1 most=$2 recipe=$3 how
    shift 3
    how=(--recipe "$recipe" "$@")
    [ -e "$OUT/$name/config.toml" ] && how=(--resume)
    step "$name" "$most" "$PYTHON" -m deepnlp train --backend cupy --out "$OUT/$name" "${how[@]}"
}

step tests 420 "$PYTHON" -m pytest -q -m gpu tests
step lm 300 "$PYTHON" -m benchmarks lm --backend cupy --sizes 200,650 --rounds 3 \
    --out "$OUT/benchmarks"
train ptb-650 240 book-better-rnnlm --epochs 1 --no-baselines

# The rows of Table 1 that have not run, four at once, each on a quarter of the multiprocessors: a
# loop over time waits most of the time, however many it has.
rows=$("$PYTHON" - <<'PY'
from pathlib import Path

from studies.logs import Logs
from studies.table import load_table

table = load_table("table1")
logs = Logs(table, Path("docs/results") / table.folder)
print(*[name for name in table.run_names if logs.state(name) != "finished"])
PY
)
if [ -z "${DRY:-}" ]; then
    nvidia-cuda-mps-control -d 2>/dev/null || true # without it they take turns
fi
for row in $rows; do
    while [ "$(jobs -rp | wc -l)" -ge 4 ]; do wait -n; done
    CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25 \
        step "table1-$row" 1500 "$PYTHON" -m deepnlp reproduce table1 --backend cupy --only "$row" \
        --runs "$OUT/reproduce" --results "$OUT/pages/$row" &
    [ -n "${DRY:-}" ] && wait
done
wait
if [ -z "${DRY:-}" ]; then
    echo quit | nvidia-cuda-mps-control 2>/dev/null || true
fi

train gpt-shakespeare 900 gpt-shakespeare       # 1.4697
train zaremba-large 2400 zaremba-large          # 78.4
train awd-lstm 2400 awd-lstm                    # 58.8
echo "$(left) s are left"
