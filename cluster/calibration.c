/* The calls of templates/calibration.json, one after the other, several times over; the least time of each
 * counts, in seconds of the processor, because whatever else the machine does can only add. Small calls tell the factor of a call, walks
 * over 10^5 elements that of an element, products that of a product. */
#include "cluster/calibration.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/embedded.h"
#include "core/scratch_directory.h"
#include "runner/one_call.h"

enum { ROUNDS = 7 };

/* No machine that is worth a share of a job is further off; a measurement may be. */
static const double least_factor = 0.05, most_factor = 20;

static struct status write_dump(char *path, size_t room, const struct scratch_directory *directory)
{
    const struct embedded_file *file = cluster_files;
    struct file out;
    while (file->name && strcmp(file->name, "calibration.json") != 0) file++;
    if (!file->name) return status_error(STATUS_INTERNAL, "calibration.json is not compiled in");
    (void)snprintf(path, room, "%s/dump.json", directory->path);
    TRY(file_create(&out, path));
    struct status status = file_write_all(&out, file->text, file->bytes);
    struct status closed = file_close(&out);
    return status.code ? status : closed;
}

static struct status least_seconds(double *seconds, struct one_call *call, size_t position)
{
    struct case_outcome outcome = { .n_notes = 0 };
    struct status status = status_ok();
    *seconds = INFINITY;
    for (int round = 0; round < ROUNDS && !status.code; round++) {
        const double begin_s = clock_thread_seconds();
        if (!case_check(&outcome, one_call_checker(call), position))
            status = status_error(STATUS_INTERNAL, "the calibration was stopped");
        else status = outcome.fatal;
        *seconds = fmin(*seconds, clock_thread_seconds() - begin_s);
    }
    case_outcome_release(&outcome);
    return status;
}

/* What a call is about: the factor with the most seconds. */
static enum cost_factor main_factor(const struct cost_parts *parts)
{
    enum cost_factor most = COST_CALL;
    for (int i = 0; i < COST_FACTORS; i++)
        if (parts->seconds[i] > parts->seconds[most]) most = (enum cost_factor)i;
    return most;
}

/* Seconds that calls about one factor took for it, and were estimated to take. */
struct sums {
    double measured, estimated;
};

/* Calls about `factor`; what the factors before it explain is taken off first. */
static struct status measure_factor(struct cost_model *model, enum cost_factor factor,
                                    struct cost_estimator *estimator, struct one_call *call,
                                    struct arena *arena)
{
    struct sums sums = { 0, 0 };
    for (size_t i = 0; i < dump_count(call->inputs.dump); i++) {
        struct api_case c;
        double seconds;
        arena_reset(arena);
        TRY(dump_read_case(&c, arena, call->inputs.dump, i));
        const struct cost_parts parts = cost_of_call(estimator, &c);
        if (main_factor(&parts) != factor) continue;
        TRY(least_seconds(&seconds, call, i));
        for (int other = 0; other < COST_FACTORS; other++)
            if (other != (int)factor) seconds -= model->factors[other] * parts.seconds[other];
        sums.measured += fmax(seconds, 0);
        sums.estimated += parts.seconds[factor];
    }
    if (sums.estimated > 0)
        model->factors[factor] =
            fmin(fmax(sums.measured / sums.estimated, least_factor), most_factor);
    return status_ok();
}

static struct status measure(struct cost_model *out, struct one_call *call)
{
    struct cost_estimator estimator;
    struct arena arena = { 0 };
    *out = cost_model_built_in();
    struct status status = cost_estimator_open(&estimator, out);
    for (int i = 0; i < COST_FACTORS && !status.code; i++)
        status = measure_factor(out, (enum cost_factor)i, &estimator, call, &arena);
    cost_estimator_close(&estimator);
    arena_release(&arena);
    return status;
}

static struct status calibrate_in(struct cost_model *out, const struct scratch_directory *directory,
                                  const struct run_options *options)
{
    struct run_options own = RUN_OPTIONS_DEFAULTS;
    char path[sizeof directory->path + 16];
    struct one_call call;
    TRY(write_dump(path, sizeof path, directory));
    own.api_info = path;
    own.backend = "cpu";
    own.profile = options->profile;
    own.no_diagnose = true;
    own.file_policy = FILES_TRUSTED;
    struct status status = one_call_open(&call, &own, "Torch.add.0");
    if (!status.code) status = measure(out, &call);
    one_call_close(&call);
    return status;
}

struct status cost_calibrate(struct cost_model *out, const struct run_options *options)
{
    struct scratch_directory directory = { .path = "" };
    TRY(scratch_directory_make(&directory));
    struct status status = calibrate_in(out, &directory, options);
    scratch_directory_remove(&directory);
    return status;
}

const char *const *calibration_names(void)
{
    static const char *const names[] = { "measured", "built-in", NULL };
    return names;
}

struct status calibration_of(struct cost_model *out, const char *name,
                             const struct run_options *options)
{
    if (!name || !strcmp(name, calibration_names()[0])) return cost_calibrate(out, options);
    *out = cost_model_built_in();
    return status_ok();
}
