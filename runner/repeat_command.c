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

struct status repeat_command_make(char **out, const struct run_options *options)
{
    struct text_out text = { .status.code = STATUS_OK };
    char seed[32], budget[32];
    double budget_s = options->no_diagnose ? 0 : options->diagnose_budget_s;
    bool other_budget = budget_s != defaults.diagnose_budget_s;
    (void)snprintf(budget, sizeof budget, "%.17g", budget_s);
    (void)snprintf(seed, sizeof seed, "%lld", (long long)options->seed);
    text_out_string(&text, "probe-ut");
    append_option(&text, "-f", options->framework);
    text_out_string(&text, " case");
    append_option(&text, "-api_info", options->api_info);
    append_option(&text, "--backend", options->backend);
    append_option(&text, "--profile", options->profile);
    append_option(&text, "--thresholds", options->thresholds);
    append_option(&text, "--config_path", options->config_path);
    append_option(&text, "--seed", options->seed != defaults.seed ? seed : NULL);
    append_option(&text, "--diagnose-budget", other_budget ? budget : NULL);
    text_out_bytes(&text, " --name ", sizeof " --name ");
    if (text.status.code) csv_buffer_release(&text.text);
    else *out = text.text.data;
    return text.status;
}
