/* Names of modes, and lists of them. */
#include "core/kernel_modes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/nearest_name.h"

static const char *const names[KERNEL_MODE_COUNT] = {
    [KERNEL_TF32] = "tf32",     [KERNEL_HF32] = "hf32", [KERNEL_BF16X2] = "bf16x2",
    [KERNEL_STAGED] = "staged", [KERNEL_FTZ] = "ftz",   [KERNEL_FAST_MATH] = "fast-math",
};

/* What can be computed with at all: a function that is off by more than half of its bits is none. */
static const double most_ulps = 0x1p24;

const char *kernel_mode_name(enum kernel_mode mode) { return names[mode]; }

static struct status add_function(struct kernel_modes *modes, const char *name, double ulps)
{
    size_t i = 0;
    while (i < modes->function_count && strcmp(modes->functions[i].name, name) != 0) i++;
    if (i == FAST_FUNCTIONS_MAX)
        return status_error(STATUS_BAD_ARGUMENT, "fast-math takes at most %d functions",
                            FAST_FUNCTIONS_MAX);
    struct fast_function *function = &modes->functions[i];
    if (i == modes->function_count) {
        modes->function_count++;
        (void)snprintf(function->name, sizeof function->name, "%s", name);
        function->ulps = 0;
    }
    function->ulps = fmax(function->ulps, ulps);
    modes->allowed[KERNEL_FAST_MATH] = true;
    return status_ok();
}

/* "exp=8", behind "fast-math:". */
static struct status read_function(struct kernel_modes *modes, const char *text)
{
    char name[FAST_FUNCTION_BYTES], *end;
    size_t length = strcspn(text, "=");
    double ulps = text[length] ? strtod(text + length + 1, &end) : 0;
    bool is_number = text[length] && end != text + length + 1 && !*end && ulps > 0 &&
                     ulps <= most_ulps;
    if (!length || length >= sizeof name || !is_number)
        return status_error(
            STATUS_BAD_ARGUMENT,
            "'fast-math:%s' is not fast-math:FUNCTION=ULP with an error in ulp above "
            "0, such as fast-math:exp=8",
            text);
    (void)snprintf(name, sizeof name, "%.*s", (int)length, text);
    return add_function(modes, name, ulps);
}

static struct status read_one(struct kernel_modes *modes, const char *text)
{
    static const char fast[] = "fast-math:";
    if (!strncmp(text, fast, sizeof fast - 1)) return read_function(modes, text + sizeof fast - 1);
    for (int mode = 0; mode < KERNEL_FAST_MATH; mode++)
        if (!strcmp(text, names[mode])) {
            modes->allowed[mode] = true;
            return status_ok();
        }
    const char *nearest = nearest_name(text, names, KERNEL_MODE_COUNT);
    return status_error(
        STATUS_BAD_ARGUMENT,
        "'%s' is no mode of kernels; the nearest is %s, of tf32, hf32, bf16x2, staged, "
        "ftz and fast-math:FUNCTION=ULP",
        text, nearest);
}

struct status kernel_modes_read(struct kernel_modes *modes, const char *list)
{
    char one[64];
    for (;;) {
        size_t length = strcspn(list, ",");
        if (length >= sizeof one)
            return status_error(STATUS_BAD_ARGUMENT, "'%.40s...' is no mode of kernels", list);
        (void)snprintf(one, sizeof one, "%.*s", (int)length, list);
        TRY(read_one(modes, one));
        if (!list[length]) return status_ok();
        list += length + 1;
    }
}

struct status kernel_modes_add(struct kernel_modes *modes, const struct kernel_modes *more)
{
    for (int mode = 0; mode < KERNEL_MODE_COUNT; mode++)
        modes->allowed[mode] = modes->allowed[mode] || more->allowed[mode];
    for (size_t i = 0; i < more->function_count; i++)
        TRY(add_function(modes, more->functions[i].name, more->functions[i].ulps));
    return status_ok();
}

size_t kernel_modes_count(const struct kernel_modes *modes)
{
    size_t count = 0;
    for (int mode = 0; mode < KERNEL_MODE_COUNT; mode++) count += modes->allowed[mode];
    return count;
}

struct kernel_modes kernel_modes_only(const struct kernel_modes *modes, enum kernel_mode mode)
{
    struct kernel_modes only = { .function_count = 0 };
    if (mode == KERNEL_FAST_MATH) only = *modes;
    memset(only.allowed, 0, sizeof only.allowed);
    only.allowed[mode] = modes->allowed[mode];
    return only;
}

static void append(char out[KERNEL_MODES_BYTES], const char *text)
{
    size_t used = strlen(out);
    (void)snprintf(out + used, KERNEL_MODES_BYTES - used, "%s%s", used ? "," : "", text);
}

void kernel_modes_text(char out[KERNEL_MODES_BYTES], const struct kernel_modes *modes)
{
    char one[FAST_FUNCTION_BYTES + 48];
    out[0] = '\0';
    for (int mode = 0; mode < KERNEL_FAST_MATH; mode++)
        if (modes->allowed[mode]) append(out, names[mode]);
    for (size_t i = 0; modes->allowed[KERNEL_FAST_MATH] && i < modes->function_count; i++) {
        (void)snprintf(one, sizeof one, "%s:%s=%g", names[KERNEL_FAST_MATH],
                       modes->functions[i].name, modes->functions[i].ulps);
        append(out, one);
    }
}

double kernel_modes_ulps(const struct kernel_modes *modes, const char *function, double usual)
{
    if (!modes || !modes->allowed[KERNEL_FAST_MATH]) return usual;
    for (size_t i = 0; i < modes->function_count; i++)
        if (!strcmp(modes->functions[i].name, function))
            return fmax(usual, modes->functions[i].ulps);
    return usual;
}
