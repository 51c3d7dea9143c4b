/* What the file says comes after all other matching and wins over it. */
#include "graph/match_file.h"

#include <string.h>

static struct status check_pairs(const struct config_json *json)
{
    const cJSON *pair;
    if (!cJSON_IsObject(json->root))
        return config_json_fault(json, json->root, "expected an object NPU node -> Bench node");
    cJSON_ArrayForEach(
        pair,
        json->root) if (!cJSON_IsString(pair) &&
                        !cJSON_IsNull(
                            pair)) return config_json_fault(json, pair,
                                                            "expected the name of a Bench node");
    return status_ok();
}

struct status match_file_open(struct match_file *out, const char *path, struct file_policy policy)
{
    TRY(config_json_open(&out->json, path, policy));
    struct status status = check_pairs(&out->json);
    if (status.code) match_file_close(out);
    return status;
}

void match_file_close(struct match_file *file) { config_json_close(&file->json); }

/* Take the partner from a node, and the node from the partner. */
static void part(struct graph_side *side, struct graph_side *other, uint32_t node)
{
    uint32_t partner = side->match[node];
    if (partner != NODE_NONE) other->match[partner] = NODE_NONE;
    side->match[node] = NODE_NONE;
}

static uint32_t node_of_name(const struct graph_side *side, const char *name)
{
    return model_find(&side->model, name, strlen(name));
}

static struct status apply_pair(uint32_t *applied, const struct match_file *file, const cJSON *pair,
                                struct graph_side *npu, struct graph_side *bench)
{
    bool has_partner = cJSON_IsString(pair) && *pair->valuestring;
    uint32_t node = node_of_name(npu, pair->string);
    uint32_t partner = has_partner ? node_of_name(bench, pair->valuestring) : NODE_NONE;
    if (node == NODE_NONE || (has_partner && partner == NODE_NONE)) return status_ok();
    if (has_partner && npu->model.nodes[node].type != bench->model.nodes[partner].type)
        return config_json_fault(&file->json, pair, "a module and a call cannot match");
    if ((node == npu->model.root) != (partner == bench->model.root))
        return config_json_fault(&file->json, pair, "the root matches the root alone");
    part(npu, bench, node);
    ++*applied;
    if (!has_partner) return status_ok();
    part(bench, npu, partner);
    npu->match[node] = partner;
    bench->match[partner] = node;
    return status_ok();
}

struct status match_file_apply(uint32_t *applied, const struct match_file *file,
                               struct graph_side *npu, struct graph_side *bench)
{
    const cJSON *pair;
    *applied = 0;
    cJSON_ArrayForEach(pair, file->json.root) TRY(apply_pair(applied, file, pair, npu, bench));
    return status_ok();
}
