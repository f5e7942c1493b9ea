#!/bin/bash
#SBATCH --job-name=spos
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --signal=TERM@60
# One process a node; JAX finds its peers through Slurm's variables. SIGTERM, a minute before the
# end, saves the run and ends it; submitted again, the same job goes on.
srun --kill-on-bad-exit=1 python run.py --folder "$SLURM_SUBMIT_DIR/run"
