/* What the file says comes after all other matching and wins over it. */
#include "graph/match_file.h"

#include <string.h>

#include "graph/match_below.h"

/* The Bench node that a value names: "" for none; NULL when the value is no match. */
static const char *node_of_value(const cJSON *value)
{
    if (cJSON_IsNull(value)) return "";
    if (cJSON_IsObject(value)) value = config_json_get(value, "node");
    return cJSON_IsString(value) ? value->valuestring : NULL;
}

static bool goes_below(const cJSON *value)
{
    return cJSON_IsObject(value) && cJSON_IsTrue(config_json_get(value, "below"));
}

static struct status check_pairs(const struct config_json *json)
{
    static const struct config_json_key keys[] = { { "node", cJSON_String, true },
                                                   { "below", cJSON_True | cJSON_False, false },
                                                   { .name = NULL } };
    if (!cJSON_IsObject(json->root))
        return config_json_fault(json, json->root, "expected an object NPU node -> Bench node");
    for (const cJSON *pair = json->root->child; pair; pair = pair->next) {
        if (cJSON_IsObject(pair)) TRY(config_json_check_keys(json, pair, keys));
        else if (!node_of_value(pair))
            return config_json_fault(json, pair, "expected the name of a Bench node");
    }
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

static struct status apply_pair(uint32_t *applied, bool *by_hand, const struct match_file *file,
                                const cJSON *pair, struct graph_side *npu, struct graph_side *bench)
{
    const char *partner_name = node_of_value(pair);
    bool has_partner = *partner_name;
    uint32_t below = 0, node = node_of_name(npu, pair->string);
    uint32_t partner = has_partner ? node_of_name(bench, partner_name) : NODE_NONE;
    if (node == NODE_NONE || (has_partner && partner == NODE_NONE)) return status_ok();
    if (has_partner && npu->model.nodes[node].type != bench->model.nodes[partner].type)
        return config_json_fault(&file->json, pair, "a module and a call cannot match");
    if ((node == npu->model.root) != (partner == bench->model.root))
        return config_json_fault(&file->json, pair, "the root matches the root alone");
    part(npu, bench, node);
    by_hand[node] = has_partner;
    ++*applied;
    if (!has_partner) return status_ok();
    if (bench->match[partner] != NODE_NONE) by_hand[bench->match[partner]] = false;
    part(bench, npu, partner);
    npu->match[node] = partner;
    bench->match[partner] = node;
    if (goes_below(pair)) TRY(match_below(&below, npu, bench, node, partner));
    *applied += below;
    return status_ok();
}

struct status match_file_apply(uint32_t *applied, bool *by_hand, const struct match_file *file,
                               struct graph_side *npu, struct graph_side *bench)
{
    *applied = 0;
    memset(by_hand, 0, npu->model.n_nodes * sizeof *by_hand);
    for (const cJSON *pair = file->json.root->child; pair; pair = pair->next)
        TRY(apply_pair(applied, by_hand, file, pair, npu, bench));
    return status_ok();
}
