/* How bad the row of a line of evidence is, as a summary ranks it (struct row_note). */
#ifndef PROBE_RESULTS_EVIDENCE_EXCESS_H
#define PROBE_RESULTS_EVIDENCE_EXCESS_H

#include <stddef.h>

/* Infinite for a line that has no numbers or is cut before them. */
double evidence_excess(const char *line, size_t length);

#endif
