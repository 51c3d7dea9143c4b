/* Only what makes the errors of two runs incomparable is looked at: the device may differ, that is
 * what they are compared for. */
#include "results/run_pairing.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"

struct status run_file_beside(char **out, const char *details_path, const char *kind,
                              const char *suffix)
{
    static const char details[] = "accuracy_checking_details_";
    const char *slash = strrchr(details_path, '/');
    const char *base = slash ? slash + 1 : details_path, *stamp = base + sizeof details - 1;
    const char *dot = strrchr(base, '.');
    *out = NULL;
    if (strncmp(base, details, sizeof details - 1) != 0 || !dot || dot < stamp) return status_ok();
    size_t bytes = strlen(details_path) + strlen(kind) + strlen(suffix) + 1;
    *out = memory_allocate(bytes);
    if (!*out) return status_no_memory(bytes);
    (void)snprintf(*out, bytes, "%.*saccuracy_checking_%s_%.*s%s", (int)(base - details_path),
                   details_path, kind, (int)(dot - stamp), stamp, suffix);
    return status_ok();
}

struct status run_record_beside(struct run_record *out, const char *details_path,
                                struct file_policy policy)
{
    char *path;
    *out = (struct run_record){ .object = NULL };
    TRY(run_file_beside(&path, details_path, "run", ".json"));
    struct status status = status_ok();
    if (path && file_exists(path)) status = run_record_read(out, path, policy);
    memory_release(path);
    return status;
}

/* Do both have this member with one value? True when one of them does not say. */
static bool same_member(const struct run_record *one, const struct run_record *other,
                        const char *key)
{
    const cJSON *a = cJSON_GetObjectItemCaseSensitive(one->object, key);
    const cJSON *b = cJSON_GetObjectItemCaseSensitive(other->object, key);
    return !a || !b || cJSON_Compare(a, b, 1);
}

/* Dumps of two frameworks are two files of the same step; their rows tell by their shapes whether they
 * belong together. */
static struct status compare_records(const struct run_record *one, const struct run_record *other)
{
    static const struct {
        const char *key, *what;
    } compared[] = { { "dump_digest", "dumps" }, { "seed", "seeds" }, { "profile", "profiles" } };
    char list[128] = "";
    for (size_t i = same_member(one, other, "framework") ? 0 : 1;
         i < sizeof compared / sizeof *compared; i++) {
        size_t used = strlen(list);
        if (same_member(one, other, compared[i].key)) continue;
        (void)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", compared[i].what);
    }
    if (!list[0]) return status_ok();
    return status_error(STATUS_BAD_INPUT,
                        "the two details files are of runs with different %s, so their errors "
                        "cannot be compared; --force does it all the same",
                        list);
}

struct status run_pairing_check(const char *details_path, const char *other_details_path,
                                struct file_policy policy)
{
    struct run_record one = { .object = NULL }, other = { .object = NULL };
    struct status status = run_record_beside(&one, details_path, policy);
    if (!status.code) status = run_record_beside(&other, other_details_path, policy);
    if (!status.code && one.object && other.object) status = compare_records(&one, &other);
    run_record_release(&one);
    run_record_release(&other);
    return status;
}
