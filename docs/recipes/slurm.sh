#!/bin/bash
# One shard per task. On a disk that all nodes share:  sbatch --array=1-8 docs/recipes/slurm.sh plan.json shards 8
# The last argument is the number of shards. Slurm gives the number of tasks of an array, which differs as soon as only a part of it
# is repeated; so to play the third shard again:  sbatch --array=3 docs/recipes/slurm.sh plan.json shards 8
# A task that is queued again continues where it stopped, on the node that began it; choose that node with --nodelist.
#SBATCH --job-name=heart
#SBATCH --cpus-per-task=4
#SBATCH --exclusive
#SBATCH --requeue
set -euo pipefail
plan=$1 shards=$2
of=${3:?say of how many shards the plan is: sbatch --array=1-8 slurm.sh plan.json shards 8}
i=$SLURM_ARRAY_TASK_ID
harness run --plan "$plan" --shard "$i/$of" --out "$shards/shard-$i" --resume
