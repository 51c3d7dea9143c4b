#!/bin/bash
# The shards of a probe-ut job as an array job of Slurm. Usage:
#
#     sbatch @JOB@/slurm.sh [options of probe-ut work, such as --dump-root DIR]
#
# Options of sbatch stand before the script and win over the lines below: --array=0-@LAST_TASK@%20 for at
# most 20 tasks at once, --array=7 for one again, --partition, --account, --cpus-per-task, --time.
# PROBE_UT names the program where it is not in PATH, PROBE_UT_JOB the job where it is mounted elsewhere.
#SBATCH --job-name=probe-ut
#SBATCH --array=0-@LAST_TASK@%@TASKS@
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=@THREADS@
@SLURM_MEMORY@#SBATCH --time=@MINUTES@
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output="@LOG@"
#SBATCH --signal=B:USR1@60

job=${PROBE_UT_JOB:-@JOB@}
program=${PROBE_UT:-probe-ut}
shards=@SHARDS@ tasks=@TASKS@ most_restarts=3

if [ -z "${SLURM_ARRAY_TASK_ID:-}" ]; then
    echo "slurm.sh: submit it: sbatch $0" >&2
    exit 2
fi

# What Slurm granted, unless the command line says otherwise.
options=(--no-progress)
case " $* " in *" -n "*) ;; *) options+=(-n "${SLURM_CPUS_PER_TASK:-@THREADS@}") ;; esac
case " $* " in
*" --memory"*) ;;
*) [ -z "${SLURM_MEM_PER_NODE:-}" ] || options+=(--memory "${SLURM_MEM_PER_NODE}M") ;;
esac

# USR1: the time limit is near, or the node is wanted back. TERM: Slurm ends the task.
stopped='' child=''
stop()
{
    stopped=$1
    [ -z "$child" ] || kill -TERM "$child" 2>/dev/null
}
trap 'stop USR1' USR1
trap 'stop TERM' TERM

# Shards beyond the tasks that an array may have are shared out among the tasks.
status=0
for ((shard = SLURM_ARRAY_TASK_ID; shard < shards; shard += tasks)); do
    [ -z "$stopped" ] || break
    "$program" work "$job" --shard "$shard" "${options[@]}" "$@" &
    child=$!
    [ -z "$stopped" ] || kill -TERM "$child" 2>/dev/null
    wait "$child"
    code=$?
    # A signal ends the wait and not the child, which stops at the next call and keeps what it has.
    if [ -n "$stopped" ]; then
        wait "$child"
        code=$?
    fi
    child=''
    [ "$code" -le "$status" ] || status=$code
done

# Killed (no memory, a fault of the node): what is done is kept, and another node may do better. After the time
# limit a task resumes where it stopped. Slurm itself puts back what it preempted, and tasks of nodes that died.
if [ "$stopped" = USR1 ] || { [ -z "$stopped" ] && [ "$status" -gt 128 ] && [ "$status" -ne 130 ] &&
    [ "${SLURM_RESTART_COUNT:-0}" -lt "$most_restarts" ]; }; then
    echo "slurm.sh: task $SLURM_ARRAY_TASK_ID goes back into the queue (status $status)" >&2
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$status"
