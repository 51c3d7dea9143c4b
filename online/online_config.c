/* The online keys of config.json, each checked when it is read. */
#include "online/online_config.h"

#include <arpa/inet.h>
#include <string.h>

#include "core/directory.h"
#include "formats/config_json.h"

struct online_config online_config_default(void)
{
    return (struct online_config){ .ranks = { .items = { 0 }, .count = 1 } };
}

/* Where a key is being read. */
struct place {
    const struct config_json *file;
    struct arena *arena;
};

static bool is_whole(const cJSON *item, double minimum, double maximum)
{
    return cJSON_IsNumber(item) && item->valuedouble >= minimum && item->valuedouble <= maximum &&
           item->valuedouble == (double)(int64_t)item->valuedouble;
}

static struct status read_is_online(struct online_config *out, const struct place *place,
                                    const cJSON *item)
{
    if (!cJSON_IsBool(item)) return config_json_fault(place->file, item, "it is true or false");
    out->is_online = cJSON_IsTrue(item);
    return status_ok();
}

static struct status read_host(struct online_config *out, const struct place *place,
                               const cJSON *item)
{
    struct in_addr address;
    (void)out;
    if (cJSON_IsString(item) &&
        (!item->valuestring[0] || inet_pton(AF_INET, item->valuestring, &address) == 1))
        return status_ok();
    return config_json_fault(place->file, item, "it is an IPv4 address, such as \"10.0.0.7\"");
}

static struct status read_port(struct online_config *out, const struct place *place,
                               const cJSON *item)
{
    if (!is_whole(item, 1, 65535))
        return config_json_fault(place->file, item, "it is a whole number from 1 to 65535");
    out->port = (uint16_t)item->valuedouble;
    return status_ok();
}

static struct status add_rank(struct integer_list *ranks, const struct place *place,
                              const cJSON *item)
{
    if (!is_whole(item, 0, INT32_MAX))
        return config_json_fault(place->file, item, "a rank is a whole number from 0");
    for (size_t i = 0; i < ranks->count; i++)
        if (ranks->items[i] == (int64_t)item->valuedouble)
            return config_json_fault(place->file, item, "the rank is there twice");
    if (ranks->count == INTEGER_LIST_MAX)
        return config_json_fault(place->file, item, "a server takes at most %d ranks",
                                 INTEGER_LIST_MAX);
    ranks->items[ranks->count++] = (int64_t)item->valuedouble;
    return status_ok();
}

/* An empty list is what the file that comes with msprobe has; it means what a missing one does. */
static struct status read_ranks(struct online_config *out, const struct place *place,
                                const cJSON *item)
{
    const cJSON *entry;
    struct integer_list ranks = { .count = 0 };
    if (!cJSON_IsArray(item)) return config_json_fault(place->file, item, "it is a list of ranks");
    cJSON_ArrayForEach(entry, item) TRY(add_rank(&ranks, place, entry));
    if (ranks.count) out->ranks = ranks;
    return status_ok();
}

static struct status read_folder(const char **out, const struct place *place, const cJSON *item)
{
    if (!cJSON_IsString(item)) return config_json_fault(place->file, item, "it is a folder");
    *out = NULL;
    if (!item->valuestring[0]) return status_ok();
    if (!directory_exists(item->valuestring))
        return config_json_fault(place->file, item, "'%s' is no folder", item->valuestring);
    *out = arena_copy_string(place->arena, item->valuestring);
    return *out ? status_ok() : status_no_memory(0);
}

static struct status read_tls_path(struct online_config *out, const struct place *place,
                                   const cJSON *item)
{
    return read_folder(&out->tls_path, place, item);
}

static struct status read_nfs_path(struct online_config *out, const struct place *place,
                                   const cJSON *item)
{
    return read_folder(&out->nfs_path, place, item);
}

static const struct {
    const char *name;
    struct status (*read)(struct online_config *out, const struct place *place, const cJSON *item);
} keys[] = {
    { "is_online", read_is_online }, { "host", read_host },         { "port", read_port },
    { "rank_list", read_ranks },     { "tls_path", read_tls_path }, { "nfs_path", read_nfs_path },
};

static const cJSON *find_section(const cJSON *root)
{
    const cJSON *section = config_json_get(root, "run_ut");
    return section ? section : config_json_get(root, "acc_check");
}

static struct status read_section(struct online_config *out, const struct place *place,
                                  const cJSON *section)
{
    if (!cJSON_IsObject(section))
        return status_error(STATUS_BAD_INPUT, "%s has no object \"run_ut\" (or \"acc_check\")",
                            place->file->name);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const cJSON *item = config_json_get(section, keys[i].name);
        if (item) TRY(keys[i].read(out, place, item));
    }
    if (!config_json_get(section, "tls_path") && file_exists("./server.key") &&
        file_exists("./server.crt"))
        out->tls_path = ".";
    return status_ok();
}

struct status online_config_read(struct online_config *out, struct arena *arena, const char *path,
                                 struct file_policy policy)
{
    struct online_config config = online_config_default();
    struct config_json file;
    TRY(config_json_open(&file, path, policy));
    const struct place place = { &file, arena };
    struct status status = read_section(&config, &place, find_section(file.root));
    config_json_close(&file);
    if (!status.code) *out = config;
    return status;
}

bool online_config_says_online(const char *path, struct file_policy policy)
{
    struct config_json file;
    if (!path || config_json_open(&file, path, policy).code) return false;
    bool says = cJSON_IsTrue(config_json_get(find_section(file.root), "is_online"));
    config_json_close(&file);
    return says;
}
