/* Values of options that several commands have. Lists end with NULL. */
#ifndef PROBE_CLI_CHOICES_H
#define PROBE_CLI_CHOICES_H

/* --color */
const char *const *color_names(void);

/* --fail-on of comparisons: error, warning */
const char *const *fail_on_verdicts(void);

/* --isolate */
const char *const *isolation_names(void);

#endif
