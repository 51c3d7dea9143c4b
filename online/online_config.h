/* The keys of config.json that set up the online pre-check, in its object "run_ut" (or "acc_check"):
 *
 *     is_online   true: calls come from processes that train
 *     host        checked and, as by msprobe, not used: the server listens on all addresses
 *     port        to listen on
 *     rank_list   ranks whose records are judged; [0] where it is missing
 *     tls_path    folder with server.key, server.crt, ca.crt, crl.pem (online/tls.h); "": plain text. Where it is
 *                 missing: the working directory if it has server.key and server.crt, else plain text
 *     nfs_path    folder of shared storage; then there is no server
 */
#ifndef PROBE_ONLINE_ONLINE_CONFIG_H
#define PROBE_ONLINE_ONLINE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/file.h"
#include "core/integer_list.h"
#include "core/status.h"

struct online_config {
    bool is_online;
    uint16_t port; /* 0: not given */
    struct integer_list ranks;
    const char *tls_path; /* NULL: plain text */
    const char *nfs_path; /* NULL: none */
};

/* What holds without a file: rank 0, nothing else. */
struct online_config online_config_default(void);

/* Read it. Texts live in `arena`. Keys of other commands are not looked at.
 *
 *   errors  STATUS_BAD_INPUT naming file, line and key
 */
struct status online_config_read(struct online_config *out, struct arena *arena, const char *path,
                                 struct file_policy policy);

/* Does the file, when there is one, say is_online? A file with a fault does not; whoever reads it says
 * what it is. */
bool online_config_says_online(const char *path, struct file_policy policy);

#endif
