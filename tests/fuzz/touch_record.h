/* Read all that a decoder of records returned, so that ASan sees a tensor that leaves its body. */
#ifndef PROBE_TESTS_FUZZ_TOUCH_RECORD_H
#define PROBE_TESTS_FUZZ_TOUCH_RECORD_H

#include "fuzz/touch_tensor.h"
#include "online/record.h"

static inline bool touch_value(struct value *value, void *context)
{
    (void)context;
    assert(value->tensor.tensor && value->tensor.record);
    touch_tensor(value->tensor.tensor);
    return true;
}

static inline void touch_record(struct record *record)
{
    assert(record->call.full_name[0] && record->call.api && record->call.type);
    if (record->unusable.code) return;
    (void)value_each_tensor(&record->call.args, touch_value, NULL);
    (void)value_each_tensor(&record->call.kwargs, touch_value, NULL);
    (void)value_each_tensor(&record->call.outputs, touch_value, NULL);
    (void)record_writes_arguments(&record->call);
}

#endif
