/* Values of options that several commands have. Lists end with NULL. */
#ifndef PROBE_CLI_CHOICES_H
#define PROBE_CLI_CHOICES_H

/* --color */
const char *const *color_names(void);

/* --isolate */
const char *const *isolation_names(void);

#endif
