#!/bin/bash
# One shard a task. On a disk that all nodes see:  sbatch --array=1-8 docs/recipes/slurm.sh plan.json shards 8
# The last word is the number of shards. Slurm says how many tasks an array has, which is another number as soon as a part of it
# is repeated; so to play the third shard again:  sbatch --array=3 docs/recipes/slurm.sh plan.json shards 8
# A task that is queued again goes on where it stopped, on the node that began it; give it back there with --nodelist.
#SBATCH --job-name=heart
#SBATCH --cpus-per-task=4
#SBATCH --exclusive
#SBATCH --requeue
set -euo pipefail
plan=$1 shards=$2
of=${3:?say of how many shards the plan is: sbatch --array=1-8 slurm.sh plan.json shards 8}
i=$SLURM_ARRAY_TASK_ID
harness run --plan "$plan" --shard "$i/$of" --out "$shards/shard-$i" --resume
