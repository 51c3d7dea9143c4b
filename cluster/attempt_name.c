/* The number of a process says something only to who shares its boot and its namespace. */
#include "cluster/attempt_name.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/hash.h"

enum { HOST_BYTES = 64, SPACE_BYTES = 256 };

static const char prefix[] = "attempt-", part_prefix[] = "part-of-";
static const char digits[] = "0123456789";

bool attempt_name_is(const char *name) { return !strncmp(name, prefix, sizeof prefix - 1); }

const char *attempt_name_of_part(struct arena *arena, const char *name)
{
    return arena_format(arena, "%s%s", part_prefix, name);
}

bool attempt_name_is_part(const char *name)
{
    return !strncmp(name, part_prefix, sizeof part_prefix - 1);
}

int64_t attempt_name_began(const char *name)
{
    return attempt_name_is(name) ? strtoll(name + sizeof prefix - 1, NULL, 10) : 0;
}

const char *attempt_host(struct arena *arena)
{
    char host[HOST_BYTES];
    if (gethostname(host, sizeof host)) (void)snprintf(host, sizeof host, "host");
    host[sizeof host - 1] = '\0';
    for (char *at = host; *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.", *at))
            *at = '-';
    return arena_copy_string(arena, host);
}

/* The digest of what the numbers of processes are relative to; 0 when that is not known. */
static uint32_t process_space(void)
{
    char text[SPACE_BYTES];
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file) return 0;
    size_t bytes = fread(text, 1, SPACE_BYTES / 2, file);
    (void)fclose(file);
    ssize_t more = readlink("/proc/self/ns/pid", text + bytes, SPACE_BYTES / 2);
    if (!bytes || more <= 0) return 0;
    uint64_t digest = hash_bytes(HASH_START, text, bytes + (size_t)more);
    return (uint32_t)(digest ^ digest >> 32) | 1;
}

const char *attempt_name_make(struct arena *arena, int64_t began)
{
    uint32_t number = 0;
    const char *host = attempt_host(arena);
    if (!host) return NULL;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number)
        number = (uint32_t)(uintptr_t)arena ^ (uint32_t)getpid();
    return arena_format(arena, "%s%lld-%s-%d-%08x-%08x", prefix, (long long)began, host,
                        (int)getpid(), process_space(), number);
}

/* Where the field that is `count` fields from the end begins; NULL when there are fewer. */
static const char *field_from_end(const char *name, int count)
{
    for (const char *at = name + strlen(name); at > name; at--)
        if (at[-1] == '-' && !--count) return at;
    return NULL;
}

bool attempt_name_is_dead(const char *name)
{
    const char *space = field_from_end(name, 2), *process = field_from_end(name, 3);
    uint32_t ours = process_space();
    if (!process || !ours || strtoul(space, NULL, 16) != ours) return false;
    if (strspn(process, digits) != strcspn(process, "-")) return false;
    long number = strtol(process, NULL, 10);
    return number > 0 && number == (pid_t)number && kill((pid_t)number, 0) && errno == ESRCH;
}
