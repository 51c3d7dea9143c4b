/* The keys of parallel_merge, each checked where it is taken. */
#include "graph/parallel_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "formats/config_json.h"

enum { MOST_RANKS = 1000000 };

static struct status take_number(unsigned *out, const struct config_json *source,
                                 const cJSON *object, const char *key, unsigned otherwise)
{
    const cJSON *item = config_json_get(object, key);
    *out = otherwise;
    if (!item && otherwise) return status_ok();
    if (!item) return config_json_fault(source, object, "'%s' is missing", key);
    if (!cJSON_IsNumber(item) || item->valuedouble < 1 || item->valuedouble > MOST_RANKS ||
        item->valuedouble != (int)item->valuedouble)
        return config_json_fault(source, item, "'%s' must be a whole number, at least 1", key);
    *out = (unsigned)item->valuedouble;
    return status_ok();
}

static struct status take_order(char out[PARALLEL_ORDER_BYTES], const struct config_json *source,
                                const cJSON *object)
{
    const cJSON *item = config_json_get(object, "order");
    (void)snprintf(out, PARALLEL_ORDER_BYTES, "tp-cp-ep-dp-pp");
    if (!item) return status_ok();
    size_t length = cJSON_IsString(item) ? strlen(item->valuestring) : 0;
    if (!length || length >= PARALLEL_ORDER_BYTES ||
        strspn(item->valuestring, "abcdefghijklmnopqrstuvwxyz-") != length)
        return config_json_fault(source, item, "'order' must be small letters and '-', such as %s",
                                 out);
    (void)snprintf(out, PARALLEL_ORDER_BYTES, "%s", item->valuestring);
    return status_ok();
}

static struct status check_sizes(const struct config_json *source, const cJSON *object,
                                 const struct parallel_layout *layout)
{
    const struct {
        const char *key;
        unsigned value;
    } shares[] = { { "tp", layout->tp }, { "pp", layout->pp } };
    for (size_t i = 0; i < 2; i++)
        if (layout->rank_size % shares[i].value)
            return config_json_fault(source, config_json_get(object, shares[i].key),
                                     "%u does not divide the %u of 'rank_size'", shares[i].value,
                                     layout->rank_size);
    if (layout->rank_size % ((uint64_t)layout->tp * layout->pp))
        return config_json_fault(source, object,
                                 "'tp' * 'pp' is %llu and does not divide the %u of 'rank_size'",
                                 (unsigned long long)layout->tp * layout->pp, layout->rank_size);
    if (layout->vpp > 1 && layout->pp == 1)
        return config_json_fault(source, config_json_get(object, "vpp"),
                                 "'vpp' above 1 needs 'pp' above 1");
    if (parallel_order_is_valid(layout)) return status_ok();
    return config_json_fault(source, config_json_get(object, "order"),
                             "'%s' is no order of tp, cp, ep, dp and pp in which ep stands beside "
                             "dp",
                             layout->order);
}

static struct status take_layout(struct parallel_layout *out, const struct config_json *source,
                                 const cJSON *merge, const char *side)
{
    const cJSON *object = config_json_get(merge, side);
    if (!cJSON_IsObject(object))
        return config_json_fault(source, object ? object : merge,
                                 "'%s' must be an object with rank_size, tp and pp", side);
    TRY(take_number(&out->rank_size, source, object, "rank_size", 0));
    TRY(take_number(&out->tp, source, object, "tp", 0));
    TRY(take_number(&out->pp, source, object, "pp", 0));
    TRY(take_number(&out->vpp, source, object, "vpp", 1));
    TRY(take_order(out->order, source, object));
    return check_sizes(source, object, out);
}

static struct status take_merge(struct parallel_merge *out, const struct config_json *source,
                                bool compared)
{
    const cJSON *merge = config_json_get(source->root, "parallel_merge");
    if (!merge || cJSON_IsNull(merge)) return status_ok();
    if (!cJSON_IsObject(merge))
        return config_json_fault(source, merge, "'parallel_merge' must be an object");
    out->wanted = true;
    TRY(take_layout(&out->npu, source, merge, "npu"));
    return compared ? take_layout(&out->bench, source, merge, "bench") : status_ok();
}

struct status parallel_merge_read(struct parallel_merge *out, const char *path, bool compared,
                                  struct file_policy policy)
{
    struct config_json source;
    *out = (struct parallel_merge){ .wanted = false };
    TRY(config_json_open(&source, path, policy));
    struct status status = take_merge(out, &source, compared);
    config_json_close(&source);
    return status;
}
