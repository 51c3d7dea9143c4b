/* Files of config/, repro/templates/ and cluster/templates/ and the pages of web/, compiled into the program. */
#ifndef PROBE_CORE_EMBEDDED_H
#define PROBE_CORE_EMBEDDED_H

struct embedded_file {
    const char *name; /* file name without directory */
    const char *text; /* NUL-terminated */
    unsigned long bytes;
};

/* Each ended by a NULL name. */
extern const struct embedded_file config_files[], pages_files[], repro_files[], cluster_files[];

#endif
