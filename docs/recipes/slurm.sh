#!/bin/bash
# One shard a task. On a disk that all nodes see:  sbatch --array=1-8 docs/recipes/slurm.sh plan.json shards
# A task that is queued again goes on where it stopped, on the node that began it; give it back there with --nodelist.
#SBATCH --job-name=heart
#SBATCH --cpus-per-task=4
#SBATCH --exclusive
#SBATCH --requeue
set -euo pipefail
plan=$1 shards=$2
i=$SLURM_ARRAY_TASK_ID
harness run --plan "$plan" --shard "$i/$SLURM_ARRAY_TASK_COUNT" --out "$shards/shard-$i" --resume
