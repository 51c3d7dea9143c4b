/* Names put together. */
#include "cluster/job_paths.h"

#include <string.h>

#include "core/file.h"

const char *path_join(struct arena *arena, const char *directory, const char *name)
{
    size_t length = strlen(directory);
    bool joined = !length || !*name || directory[length - 1] == '/';
    return arena_format(arena, "%s%s%s", directory, joined ? "" : "/", name);
}

const char *job_path(struct arena *arena, const char *job, const char *name)
{
    return path_join(arena, job, name);
}

static const char *shard_path(struct arena *arena, const char *job, size_t shard, const char *end)
{
    const char *shards = job_path(arena, job, "shards");
    return shards ? arena_format(arena, "%s/%zu%s", shards, shard, end) : NULL;
}

const char *job_shard_path(struct arena *arena, const char *job, size_t shard)
{
    return shard_path(arena, job, shard, "");
}

const char *job_done_path(struct arena *arena, const char *job, size_t shard)
{
    return shard_path(arena, job, shard, "/done");
}

const char *job_dump_root(struct arena *arena, const struct plan *plan, const char *told)
{
    if (told) return told;
    if (plan->root[0] == '/' || file_exists(plan->root)) return plan->root;
    return path_join(arena, plan->directory, plan->root);
}
