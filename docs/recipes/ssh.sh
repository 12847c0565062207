#!/bin/bash
# One shard per host, with ssh only:  bash docs/recipes/ssh.sh plan.json shards host-1 host-2 host-3
# Each host needs the harness on its path, and the plan's profiles and packs at the paths that the plan names, below its home directory.
# Run it again after a host was lost or stopped: finished sessions are not played twice.
set -euo pipefail
plan=$1 shards=$2
shift 2
hosts=("$@") failed=0 waiting=()
mkdir -p "$shards"
for k in "${!hosts[@]}"; do
  (
    scp -q "$plan" "${hosts[k]}:heart-plan.json"
    ssh "${hosts[k]}" "harness run --plan heart-plan.json --shard $((k + 1))/${#hosts[@]} --out heart-shard --resume"
    here="$shards/shard-$((k + 1))"
    rm -rf "$here.part"
    scp -q -r "${hosts[k]}:heart-shard" "$here.part"
    rm -rf "$here" && mv "$here.part" "$here"
  ) &
  waiting+=($!)
done
for job in "${waiting[@]}"; do wait "$job" || failed=1; done
exit $failed
