/* What a worker sends, of any bytes: a line, and the shared memory behind a record separator. What a
 * reply holds can be sent back as the arguments of a request, and read again from there. */
#include <assert.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/memory_file.h"
#include "fuzz/touch_tensor.h"
#include "runner/devices/worker/worker_message.h"

enum { MEMORY_BYTES = 1 << 20, LIMIT_BYTES = 16 << 20 };

static struct status reserve(struct worker_memory *memory, uint64_t bytes)
{
    assert(bytes <= memory->limit);
    memory->bytes = bytes > memory->bytes ? bytes : memory->bytes;
    return status_ok();
}

static void check_same_tensor(const struct tensor *a, const struct tensor *b)
{
    assert(a->dtype == b->dtype && tensor_same_shape(a, b));
    size_t bytes = tensor_elements(a) * dtype_info(a->dtype)->bytes;
    assert(!bytes || !memcmp(a->data, b->data, bytes));
}

/* A request writes 7.0 as a Python program would, which a reply takes for 7. */
static void check_same(const struct value *a, const struct value *b)
{
    if (a->kind == VALUE_FLOAT && b->kind == VALUE_INT) {
        assert(a->real == (double)b->integer);
        return;
    }
    assert(a->kind == b->kind);
    switch (a->kind) {
    case VALUE_NONE: break;
    case VALUE_BOOL: assert(a->boolean == b->boolean); break;
    case VALUE_INT: assert(a->integer == b->integer); break;
    case VALUE_FLOAT: assert(a->real == b->real || (isnan(a->real) && isnan(b->real))); break;
    case VALUE_STRING: assert(!strcmp(a->string, b->string)); break;
    case VALUE_DTYPE: assert(a->dtype == b->dtype); break;
    case VALUE_TENSOR: check_same_tensor(a->tensor.tensor, b->tensor.tensor); break;
    default: abort(); /* a reply has no other */
    }
}

/* "args" of the request, as the outputs of a reply. (Not by way of the JSON library, which prints 15
 * digits.) A quote inside a string is escaped, so that the key behind can be found. */
static char *reply_of(const struct text *request)
{
    cJSON *root = cJSON_ParseWithLength(request->bytes, request->used);
    assert(root); /* what we write is JSON */
    cJSON_Delete(root);
    const char *args = strstr(request->bytes, "\"args\":") + strlen("\"args\":");
    const char *end = strstr(args, ",\"kwargs\":");
    size_t length = (size_t)(end - args), room = length + 40;
    char *text = malloc(room);
    assert(end && text);
    snprintf(text, room, "{\"run\":1,\"outputs\":%.*s}", (int)length, args);
    return text;
}

static void send_back(struct arena *arena, const struct value *outputs)
{
    static unsigned char base[MEMORY_BYTES];
    struct worker_memory memory = { .base = base, .limit = sizeof base, .reserve = reserve };
    struct text request = { 0 };
    struct device_result again;
    struct worker_reply notes;
    struct api_case c = { .full_name = "Torch.x.0",
                          .type = "Torch",
                          .api = "x",
                          .args = *outputs,
                          .kwargs = { .kind = VALUE_DICT },
                          .outputs = { .kind = VALUE_LIST },
                          .cotangents = *outputs };

    if (!worker_request(&request, &memory, 1, &c, true).code) {
        char *text = reply_of(&request);
        struct status status =
            worker_read_reply(&again, &notes, arena, &memory, text, strlen(text), 1, false);
        /* twice the outputs may be too much for the arena */
        assert(!status.code || status.code == STATUS_NO_MEMORY);
        for (size_t i = 0; !status.code && i < outputs->list.count; i++)
            check_same(&outputs->list.items[i], &again.outputs.list.items[i]);
        free(text);
    }
    text_release(&request);
}

static void touch(const struct value *list)
{
    for (size_t i = 0; list->kind == VALUE_LIST && i < list->list.count; i++) {
        const struct value *item = &list->list.items[i];
        if (item->kind == VALUE_TENSOR) touch_tensor(item->tensor.tensor);
        if (item->kind == VALUE_STRING) assert(strlen(item->string) < SIZE_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct part line = next_part(&data, &size);
    struct arena arena = { .limit_bytes = LIMIT_BYTES };
    struct worker_memory memory = { .bytes = size, .limit = size };
    struct device_result result;
    struct worker_reply notes;
    struct worker_greeting greeting;
    /* of exactly its size: nothing lies behind the line */
    char *text = malloc(line.size ? line.size : 1);

    if (!text) abort();
    memcpy(text, line.data, line.size);
    memory.base = malloc(size ? size : 1);
    if (!memory.base) abort();
    if (size) memcpy(memory.base, data, size);
    struct status status = worker_read_greeting(&greeting, text, line.size);
    assert(!status.code || status.code == STATUS_DEVICE);
    for (int gradients = 0; gradients < 2; gradients++) {
        status = worker_read_reply(&result, &notes, &arena, &memory, text, line.size, 1, gradients);
        if (status.code) continue;
        touch(&result.outputs);
        touch(&result.gradients);
        send_back(&arena, &result.outputs);
    }
    free(memory.base);
    free(text);
    arena_release(&arena);
    return 0;
}
