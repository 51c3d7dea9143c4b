/* The same call on a second device. */
#include "runner/check_second.h"

#include "runner/check_rows.h"
#include "runner/check_stages.h"
#include "runner/environment.h"
#include "runner/tensor_reference.h"

static struct status run_second(struct device_result *got, struct check *k)
{
    struct device *device = k->second->device;
    bool waits = device->class->external;
    if (waits) check_return_slot(k->setup);
    struct status status = device->class->run(device, got, k->arena, &k->call.c, false);
    if (waits) check_take_slot(k->setup);
    (void)environment_restore_arithmetic();
    return status;
}

/* A value of the second device as a reference. */
static struct status second_wanted(struct bench_output *out, struct arena *arena,
                                   const struct value *value)
{
    *out = (struct bench_output){ .kind = value->kind == VALUE_NONE ? BENCH_OUTPUT_NONE
                                                                    : BENCH_OUTPUT_VALUE,
                                  .value = *value };
    if (value->kind != VALUE_TENSOR) return status_ok();
    out->kind = BENCH_OUTPUT_TENSOR;
    return tensor_reference(&out->reference, arena, value->tensor.tensor);
}

/* What was recorded against what the second device has returned. */
static struct status judge_against(struct check *k, const struct device_result *second)
{
    const struct value *recorded = k->call.got.outputs.list.items;
    size_t count = second->outputs.list.count, n_recorded = k->call.got.outputs.list.count;
    struct bench_output want;

    if (count != n_recorded)
        return status_error(STATUS_SKIP, "The second device returned %zu outputs, not %zu.", count,
                            n_recorded);
    for (size_t i = 0; i < count; i++) {
        TRY(second_wanted(&want, k->arena, &second->outputs.list.items[i]));
        TRY(check_judge_row(k, false, i, &want, &recorded[i]));
    }
    return status_ok();
}

static bool has_random_output(struct bench *bench)
{
    for (size_t i = 0; i < bench_output_count(bench); i++)
        if (bench_output(bench, i)->kind == BENCH_OUTPUT_RANDOM) return true;
    return false;
}

static struct status make_second_rows(struct check *k)
{
    struct device_result got = { 0 };
    if (has_random_output(k->call.bench))
        return status_error(STATUS_SKIP, "The values of this API are random: two devices cannot "
                                         "be compared.");
    TRY(run_second(&got, k));
    if (k->second->two_way) return judge_against(k, &got);
    k->call.got = got;
    return check_judge_forward(k);
}

void check_second(struct check *k)
{
    const struct call_rows rows = k->rows;
    const struct call call = k->call;

    k->rows = (struct call_rows){
        .style = rows.style, .arena = rows.arena, .out = k->second->out, .place = rows.place
    };
    k->call.diagnosis_bytes = 0;
    k->call.repeats = (struct repeats){ .count = { 0 } };
    call_rows_clear(&k->rows);
    struct status status = make_second_rows(k);
    if (status.code) {
        call_rows_clear(&k->rows);
        status = check_add_plain_row(k, false, VERDICT_SKIP, CAUSE_DEVICE_DECLINED, status.text);
    }
    if (!status.code) status = call_rows_end(&k->rows, k->call.c.full_name);
    k->second->has_rows = !status.code;
    k->second->out->fatal = status;
    k->rows = rows;
    k->call = call;
}
