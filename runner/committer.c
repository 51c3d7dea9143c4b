/* All rows first: what is told of a call is in its file. */
#include "runner/committer.h"

static struct status tell_call(const struct committer *committer, const struct run_part *part,
                               const struct case_outcome *outcome, const char *name)
{
    const struct call_listener *listener = committer->listener;
    TRY(summary_add(committer->summary, outcome, name, part->place));
    if (listener->tell) TRY(listener->tell(listener->context, outcome, name));
    progress_count(committer->progress,
                   outcome->forward == VERDICT_ERROR || outcome->backward == VERDICT_ERROR);
    return status_ok();
}

struct status committer_take(const struct committer *committer, struct run_part *part,
                             const struct case_outcome *const *outcomes, size_t count)
{
    for (size_t i = 0; i < count; i++) TRY(run_part_add(part, i, outcomes[i]));
    TRY(run_part_commit(part, count));
    for (size_t i = 0; i < count; i++)
        TRY(tell_call(committer, part, outcomes[i],
                      run_part_name(part, part->committed - count + i)));
    return status_ok();
}
