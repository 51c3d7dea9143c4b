/* Plans of any bytes: what is read names dumps below their root and shards that cover calls which there
 * are, one behind the other, so that whoever works on it stays within its dumps. */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cluster/plan_file.h"
#include "cluster/shard_slices.h"

static void check_slices(const struct plan *plan, struct arena *arena, size_t shard)
{
    struct shard_slices slices;
    if (shard_slices_list(&slices, arena, plan, shard).code) return;
    for (size_t i = 0; i < slices.count; i++) {
        const struct shard_slice *item = &slices.items[i];
        const struct plan_dump *dump = &plan->dumps[item->dump];
        assert(item->dump < plan->n_dumps && !dump->refused);
        assert(item->slice.calls.first < item->slice.calls.end);
        assert(item->slice.calls.end <= dump->calls);
        assert(!i || slices.items[i - 1].dump < item->dump);
    }
}

/* Does a part of the name lead upward? "rank.." does not. */
static bool leads_upward(const char *name)
{
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (!strncmp(part, "..", 2) && (!part[2] || part[2] == '/')) return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = { 0 };
    struct plan plan;
    struct status status = plan_parse(&plan, &arena, (const char *)data, size, "plan.json");
    /* Everything but the digest, which no fuzzer finds, has been looked at then. */
    bool edited = !strcmp(status.text, "plan.json has been changed since it was made");
    assert(!status.code || (status.code == STATUS_BAD_INPUT && status.text[0]));
    for (size_t i = 0; (!status.code || edited) && i < plan.n_dumps; i++)
        assert(plan.dumps[i].path[0] != '/' && !leads_upward(plan.dumps[i].path) &&
               !leads_upward(plan.dumps[i].folder));
    for (size_t i = 0; (!status.code || edited) && i < plan.n_shards && i < 100; i++)
        check_slices(&plan, &arena, i);
    arena_release(&arena);
    return 0;
}
