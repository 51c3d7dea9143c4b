#include "report/ci_reports.h"

#include <stdio.h>
#include <string.h>

#include "report/baseline.h"
#include "report/junit.h"

static struct status compare_with_baseline(int *exit_status, const struct ci_options *options,
                                           const char *details_path, bool warnings)
{
    struct baseline baseline;
    TRY(baseline_compare(&baseline, options->baseline, details_path, warnings,
                         options->file_policy));
    baseline_print(stdout, &baseline);
    *exit_status = baseline.counts[BASELINE_NEW] ? 1 : 0;
    baseline_release(&baseline);
    return status_ok();
}

struct status ci_report(int *exit_status, const struct ci_options *options,
                        const char *details_path, const char *suite, bool has_failures)
{
    bool warnings = options->fail_on && strcmp(options->fail_on, "warning") == 0;

    *exit_status = options->fail_on && has_failures ? 1 : 0;
    if (options->junit) TRY(junit_write(options->junit, details_path, suite, warnings));
    if (!options->baseline) return status_ok();
    return compare_with_baseline(exit_status, options, details_path, warnings);
}
