/* The record of a communication call of any bytes: what is found lies within it. */
#include <assert.h>
#include <stdint.h>

#include "graph/communication_record.h"

static const char *begin, *end;

static void lies_within(struct json_slice slice)
{
    if (slice.text && slice.bytes) assert(slice.text >= begin && slice.text + slice.bytes <= end);
}

static struct status look(void *context, const struct batch_operation *operation)
{
    (void)context;
    lies_within(operation->name);
    lies_within(operation->group_id);
    return status_ok();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct communication_arguments arguments;
    struct json record, members;
    int64_t rank;

    begin = (const char *)data;
    end = begin + size;
    json_open(&record, begin, size);
    communication_arguments_read(&arguments, record);
    lies_within(arguments.group_id);
    lies_within(arguments.members);
    if (arguments.members.text) {
        group_members_open(&members, arguments.members);
        while (group_members_next(&rank, &members)) continue;
    }
    assert(!batch_operations_walk(&arguments, look, NULL).code);
    return 0;
}
