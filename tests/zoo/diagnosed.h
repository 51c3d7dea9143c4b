/* How the faults of the zoo are diagnosed: the counts behind `tests/zoo/run --diagnose`. */
#ifndef ZOO_DIAGNOSED_H
#define ZOO_DIAGNOSED_H

/* Count the rows of a run that were judged errors: `evidence` is its evidence file. Prints a line. */
void diagnosed_add(const char *fault, const char *dtype, const char *evidence);

/* Print the confusion matrix and the shares. Returns 1 when an aim is missed. */
int diagnosed_print(void);

#endif
