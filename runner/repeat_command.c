/* Only what differs from the defaults is said: the command is there to be read, too. */
#include "runner/repeat_command.h"

#include <stdio.h>
#include <string.h>

#include "formats/text_out.h"

static const struct run_options defaults = RUN_OPTIONS_DEFAULTS;

static void append_option(struct text_out *out, const char *name, const char *value)
{
    if (!value) return;
    text_out_string(out, " ");
    text_out_string(out, name);
    text_out_string(out, " ");
    text_out_shell_word(out, value);
}

/* The options that decide what is checked and how it is judged. */
static void append_shared(struct text_out *out, const struct run_options *options)
{
    char seed[32];
    (void)snprintf(seed, sizeof seed, "%lld", (long long)options->seed);
    append_option(out, "-api_info", options->api_info);
    append_option(out, "--backend", options->backend);
    append_option(out, "--profile", options->profile);
    append_option(out, "--thresholds", options->thresholds);
    append_option(out, "--allow", options->allow);
    append_option(out, "--budget", options->budget);
    append_option(out, "--config_path", options->config_path);
    append_option(out, "--inputs", options->inputs);
    append_option(out, "--seed", options->seed != defaults.seed ? seed : NULL);
}

/* Hand over the text, which ends in " --name ". */
static struct status finish(char **out, struct text_out *text)
{
    text_out_bytes(text, " --name ", sizeof " --name ");
    if (text->status.code) csv_buffer_release(&text->text);
    else *out = text->text.data;
    return text->status;
}

struct status repeat_command_make(char **out, const struct run_options *options)
{
    struct text_out text = { .status.code = STATUS_OK };
    char budget[32];
    double budget_s = options->no_diagnose ? 0 : options->diagnose_budget_s;
    bool other_budget = budget_s != defaults.diagnose_budget_s;
    (void)snprintf(budget, sizeof budget, "%.17g", budget_s);
    text_out_string(&text, "probe-ut");
    append_option(&text, "-f", options->framework);
    text_out_string(&text, " case");
    append_shared(&text, options);
    append_option(&text, "--diagnose-budget", other_budget ? budget : NULL);
    return finish(out, &text);
}

enum reproducer_kind reproducer_kind_of(const struct run_options *options)
{
    const char *backend = options->backend;
    bool torch = backend && (!strcmp(backend, "torch") || !strncmp(backend, "torch:", 6) ||
                             !strcmp(backend, "recorded"));
    if (backend && !strncmp(backend, "plugin:", 7)) return REPRODUCER_KERNEL;
    if (options->framework && strcmp(options->framework, "pytorch") != 0) return REPRODUCER_NONE;
    return torch ? REPRODUCER_TORCH : REPRODUCER_NONE;
}

struct status reproduce_command_make(char **out, const struct run_options *options)
{
    struct text_out text = { .status.code = STATUS_OK };
    *out = NULL;
    if (reproducer_kind_of(options) == REPRODUCER_NONE) return status_ok();
    text_out_string(&text, "probe-ut repro");
    append_shared(&text, options);
    return finish(out, &text);
}
