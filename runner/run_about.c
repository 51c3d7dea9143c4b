/* Asked of the system rather than handed down: the command line as the kernel keeps it is what was
 * typed, whoever parsed it. */
#include "runner/run_about.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "formats/text_out.h"

enum { COMMAND_BYTES = 16384 };

static struct status add_dump(struct run_record *record, const char *path)
{
    char resolved[PATH_MAX];
    return run_record_add_about(record, "dump", realpath(path, resolved) ? resolved : path);
}

/* The words of the command line, quoted so that a shell takes them back. */
static struct status add_command(struct run_record *record)
{
    char words[COMMAND_BYTES];
    FILE *file = fopen("/proc/self/cmdline", "re");
    if (!file) return status_ok();
    size_t bytes = fread(words, 1, sizeof words - 1, file);
    (void)fclose(file);
    words[bytes] = '\0';
    struct text_out text = { .status.code = STATUS_OK };
    for (const char *word = words; word < words + bytes; word += strlen(word) + 1) {
        if (word != words) text_out_string(&text, " ");
        text_out_shell_word(&text, word);
    }
    text_out_bytes(&text, "", 1);
    struct status status = text.status;
    if (!status.code) {
        text_tidy(text.text.data);
        status = run_record_add_about(record, "command", text.text.data);
    }
    csv_buffer_release(&text.text);
    return status;
}

static struct status add_date(struct run_record *record)
{
    char date[40];
    struct tm local;
    time_t now = time(NULL);
    if (!localtime_r(&now, &local) || !strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S%z", &local))
        return status_ok();
    return run_record_add_about(record, "date", date);
}

static struct status add_host(struct run_record *record)
{
    struct utsname system;
    if (uname(&system)) return status_ok();
    TRY(run_record_add_about(record, "host", system.nodename));
    return run_record_add_about(record, "machine", system.machine);
}

struct status run_about_add(struct run_record *record, const char *dump_path)
{
    if (dump_path) TRY(add_dump(record, dump_path));
    TRY(add_command(record));
    TRY(add_date(record));
    return add_host(record);
}
