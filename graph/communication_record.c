/* Records are read from the text of the dump, because rows do not hold groups of ranks. */
#include "graph/communication_record.h"

const char communication_prefix[] = "Distributed.";

/* ---- values ------------------------------------------------------------------------------------ */

/* The text of the value that comes next, which is passed over. */
static struct json_slice take_text(struct json *json)
{
    enum json_kind kind;
    struct json_slice text = { NULL, 0, false };
    if (!json_peek(json, &kind)) return text;
    if (kind == JSON_STRING) {
        (void)json_string(json, &text);
        return text;
    }
    const char *begin = json->at;
    if (json_skip(json) && kind != JSON_NULL)
        text = (struct json_slice){ begin, (size_t)(json->at - begin), false };
    return text;
}

/* An integer; anything else is passed over. */
static bool take_integer(int64_t *out, struct json *json)
{
    enum json_kind kind;
    struct json_number number;
    if (!json_peek(json, &kind)) return false;
    if (kind != JSON_NUMBER) return json_skip(json) && false;
    if (!json_number(json, &number) || !number.is_int64) return false;
    *out = number.integer;
    return true;
}

static bool next_is(struct json *json, enum json_kind wanted)
{
    enum json_kind kind;
    return json_peek(json, &kind) && kind == wanted;
}

void group_members_open(struct json *out, struct json_slice members)
{
    json_open(out, members.text, members.bytes);
    if (next_is(out, JSON_ARRAY)) (void)json_enter_array(out);
    else (void)json_fail_expected(out, out->at, "a list of ranks");
}

bool group_members_next(int64_t *rank, struct json *members)
{
    while (!members->problem && json_array_next(members))
        if (take_integer(rank, members)) return true;
    return false;
}

/* ---- arguments --------------------------------------------------------------------------------- */

/* {"type": "int", "value": 3} */
static void read_rank(struct communication_arguments *out, enum rank_argument which,
                      struct json json)
{
    struct json_slice key;
    if (!next_is(&json, JSON_OBJECT) || !json_enter_object(&json)) return;
    while (json_object_next(&json, &key)) {
        if (json_slice_is(&key, "value")) out->has[which] = take_integer(&out->rank[which], &json);
        else if (!json_skip(&json)) return;
    }
}

/* {"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "..."} */
static void read_group(struct communication_arguments *out, struct json json)
{
    struct json_slice key;
    if (!next_is(&json, JSON_OBJECT) || !json_enter_object(&json)) return;
    while (json_object_next(&json, &key)) {
        if (json_slice_is(&key, "group_id")) out->group_id = take_text(&json);
        else if (json_slice_is(&key, "group_ranks")) out->members = take_text(&json);
        else if (!json_skip(&json)) return;
    }
}

static void read_positional(struct communication_arguments *out, struct json json)
{
    if (!next_is(&json, JSON_ARRAY) || !json_enter_array(&json)) return;
    for (unsigned i = 0; i < 2 && json_array_next(&json); i++) {
        if (i == 1) read_rank(out, ARGUMENT_SECOND, json);
        if (!json_skip(&json)) return;
    }
}

static void read_keywords(struct communication_arguments *out, struct json json)
{
    struct json_slice key;
    if (!next_is(&json, JSON_OBJECT) || !json_enter_object(&json)) return;
    while (json_object_next(&json, &key)) {
        if (json_slice_is(&key, "src")) read_rank(out, ARGUMENT_SRC, json);
        if (json_slice_is(&key, "dst")) read_rank(out, ARGUMENT_DST, json);
        if (json_slice_is(&key, "group")) read_group(out, json);
        if (!json_skip(&json)) return;
    }
}

void communication_arguments_read(struct communication_arguments *out, struct json record)
{
    struct json_slice key;
    *out = (struct communication_arguments){ .args.start = NULL };
    if (!next_is(&record, JSON_OBJECT) || !json_enter_object(&record)) return;
    while (json_object_next(&record, &key)) {
        if (json_slice_is(&key, "input_args")) out->args = record;
        if (json_slice_is(&key, "input_kwargs")) out->kwargs = record;
        if (json_slice_is(&key, "output")) out->output = record;
        if (!json_skip(&record)) break;
    }
    if (out->args.start) read_positional(out, out->args);
    if (out->kwargs.start) read_keywords(out, out->kwargs);
}

/* ---- batches ----------------------------------------------------------------------------------- */

struct batch_walk {
    on_operation *visit;
    void *context;
    size_t count;
};

/* {"op": "isend", "peer": 1, "group_id": "...", ...}; false when the object is none of these. */
static bool read_operation(struct batch_operation *out, struct json json)
{
    struct json_slice key;
    bool has_peer = false;
    *out = (struct batch_operation){ .name.text = NULL };
    if (!json_enter_object(&json)) return false;
    while (json_object_next(&json, &key)) {
        if (json_slice_is(&key, "op")) out->name = take_text(&json);
        else if (json_slice_is(&key, "group_id")) out->group_id = take_text(&json);
        else if (json_slice_is(&key, "peer")) has_peer = take_integer(&out->peer, &json);
        else (void)json_skip(&json);
        if (json.problem) return false;
    }
    if (!out->group_id.text) out->group_id = (struct json_slice){ "", 0, false };
    return has_peer && out->name.text;
}

/* All operations in the value that comes next, however deep its lists are; the parser bounds that. */
static struct status walk(struct batch_walk *w, struct json *json) // NOLINT(misc-no-recursion)
{
    enum json_kind kind;
    struct json_slice key;
    struct batch_operation operation;
    if (!json_peek(json, &kind)) return status_ok();
    if (kind == JSON_ARRAY && json_enter_array(json)) {
        while (json_array_next(json)) TRY(walk(w, json));
    } else if (kind == JSON_OBJECT && read_operation(&operation, *json)) {
        w->count++;
        TRY(w->visit(w->context, &operation));
        (void)json_skip(json);
    } else if (kind == JSON_OBJECT && json_enter_object(json)) {
        while (json_object_next(json, &key)) TRY(walk(w, json));
    } else {
        (void)json_skip(json);
    }
    return status_ok();
}

struct status batch_operations_walk(const struct communication_arguments *arguments,
                                    on_operation *visit, void *context)
{
    struct batch_walk w = { visit, context, 0 };
    struct json output = arguments->output, args = arguments->args, kwargs = arguments->kwargs;
    if (output.start) TRY(walk(&w, &output));
    if (w.count) return status_ok();
    if (args.start) TRY(walk(&w, &args));
    if (kwargs.start) TRY(walk(&w, &kwargs));
    return status_ok();
}
