/* A template is text with @NAMES@, each of which stands for a value. */
#include "cluster/scripts.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/embedded.h"
#include "core/file.h"
#include "core/whole_file.h"
#include "formats/text_out.h"

enum {
    TASKS_MOST = 1000,   /* of an array: Slurm's MaxArraySize is 1001 unless a site raises it */
    AT_ONCE_MOST = 1000, /* pods, unless somebody raises it */
    MINUTES_LEAST = 30,  /* of a task */
    MINUTES_MOST = 1440, /* a task that takes longer is put back into the queue and resumed */
    TIMES_ESTIMATE = 4,  /* hosts may be slower than this one, and data harder than shapes tell */
    NAME_MOST = 40,      /* of a job, so that the names of its pods are no longer than 63 */
    VALUES_MOST = 12,
    MEBIBYTE = 1 << 20,
};

/* ---- templates -------------------------------------------------------------------------- */

struct substitution {
    const char *name;
    struct text_out text;
};

struct substitutions {
    struct substitution items[VALUES_MOST];
    size_t count;
};

/* The text of a new one, to be filled. */
static struct text_out *add(struct substitutions *all, const char *name)
{
    struct substitution *item = &all->items[all->count++];
    *item = (struct substitution){ .name = name };
    return &item->text;
}

__attribute__((format(printf, 3, 4))) static void add_format(struct substitutions *all,
                                                             const char *name, const char *format,
                                                             ...)
{
    char text[128];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    text_out_string(add(all, name), text);
}

static void release(struct substitutions *all)
{
    for (size_t i = 0; i < all->count; i++) csv_buffer_release(&all->items[i].text.text);
}

static struct status append_value(struct text_out *out, const struct substitutions *all,
                                  const char *name, size_t length)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct text_out *value = &all->items[i].text;
        if (strlen(all->items[i].name) != length || strncmp(all->items[i].name, name, length) != 0)
            continue;
        if (value->status.code) return value->status;
        text_out_bytes(out, value->text.data, value->text.length);
        return status_ok();
    }
    return status_error(STATUS_INTERNAL, "a template asks for '%.*s'", (int)length, name);
}

/* Between two signs of @ stand capitals; any other @ is itself. */
static struct status fill_in(struct text_out *out, const char *template,
                             const struct substitutions *all)
{
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    for (const char *sign; (sign = strchr(template, '@')); template = sign + 1) {
        size_t length = strspn(sign + 1, capitals);
        text_out_bytes(out, template, (size_t)(sign - template));
        if (!length || sign[1 + length] != '@') {
            text_out_bytes(out, sign, 1);
            continue;
        }
        TRY(append_value(out, all, sign + 1, length));
        sign += length + 1;
    }
    text_out_string(out, template);
    return out->status;
}

static const char *template_named(const char *name)
{
    const struct embedded_file *file = cluster_files;
    while (file->name && strcmp(file->name, name) != 0) file++;
    return file->text;
}

/* ---- values ----------------------------------------------------------------------------- */

/* Inside the double quotes of a line of #SBATCH or of YAML. */
static void append_quoted(struct text_out *out, const char *word)
{
    for (; *word; word++) {
        if (*word == '"' || *word == '\\') text_out_string(out, "\\");
        text_out_bytes(out, word, 1);
    }
}

/* The path of the logs, in which a % of the job's own is doubled: it begins a number of Slurm's. */
static void append_log(struct text_out *out, const char *job)
{
    for (const char *part = job;;) {
        char piece[4096];
        size_t length = strcspn(part, "%");
        (void)snprintf(piece, sizeof piece, "%.*s", (int)length, part);
        append_quoted(out, piece);
        if (!part[length]) break;
        text_out_string(out, "%%");
        part += length + 1;
    }
    text_out_string(out, "/logs/slurm-%a.log");
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/* A job is called as its directory is, in the letters that names of Kubernetes have. */
static void append_name(struct text_out *out, const char *job)
{
    const char *at = strrchr(job, '/') ? strrchr(job, '/') + 1 : job;
    size_t length = 0;
    for (bool gap = false; *at && length < NAME_MOST; at++) {
        const char c = lower(*at);
        if (is_letter_or_digit(c)) {
            if (gap && length) text_out_string(out, "-");
            text_out_bytes(out, &c, 1);
            length++;
        }
        gap = !is_letter_or_digit(c);
    }
    if (!length) text_out_string(out, "job");
}

/* Where the dumps are in a pod: their directory is mounted as /dumps. */
static void append_dumps(struct text_out *out, const char *root)
{
    struct stat info;
    const char *base = strrchr(root, '/') ? strrchr(root, '/') + 1 : root;
    text_out_string(out, "/dumps");
    if (stat(root, &info) || !S_ISREG(info.st_mode)) return;
    text_out_string(out, "/");
    append_quoted(out, base);
}

static unsigned minutes_of(const struct scripts_request *request, size_t shards_of_task)
{
    double threads = request->threads > 0 ? (double)request->threads : 1;
    double minutes = TIMES_ESTIMATE * request->longest_s * (double)shards_of_task / threads / 60;
    return (unsigned)fmin(fmax(ceil(minutes), MINUTES_LEAST), MINUTES_MOST);
}

static unsigned long long mebibytes(uint64_t bytes) { return (bytes + MEBIBYTE - 1) / MEBIBYTE; }

static void set_values(struct substitutions *all, const struct scripts_request *request,
                       const char *job)
{
    const size_t shards = request->shards, tasks = shards < TASKS_MOST ? shards : TASKS_MOST;
    const int64_t threads = request->threads > 0 ? request->threads : 1;
    text_out_shell_word(add(all, "JOB"), job);
    append_log(add(all, "LOG"), job);
    append_name(add(all, "NAME"), job);
    append_dumps(add(all, "DUMPS"), request->dump_root);
    add_format(all, "SHARDS", "%zu", shards);
    add_format(all, "TASKS", "%zu", tasks);
    add_format(all, "LAST_TASK", "%zu", tasks - 1);
    add_format(all, "AT_ONCE", "%zu", shards < AT_ONCE_MOST ? shards : AT_ONCE_MOST);
    add_format(all, "THREADS", "%lld", (long long)threads);
    add_format(all, "MINUTES", "%u", minutes_of(request, (shards + tasks - 1) / tasks));
    struct text_out *slurm = add(all, "SLURM_MEMORY"), *kubernetes = add(all, "KUBERNETES_MEMORY");
    if (!request->memory_bytes) return;
    char text[64];
    (void)snprintf(text, sizeof text, "#SBATCH --mem=%lluM\n", mebibytes(request->memory_bytes));
    text_out_string(slurm, text);
    (void)snprintf(text, sizeof text, ", memory: %lluMi", mebibytes(request->memory_bytes));
    text_out_string(kubernetes, text);
}

/* ---- files ------------------------------------------------------------------------------ */

static struct status write_script(const char *job, const char *name,
                                  const struct substitutions *all)
{
    struct text_out text = { .status.code = STATUS_OK };
    char path[4352];
    (void)snprintf(path, sizeof path, "%s/%s", job, name);
    struct status status = fill_in(&text, template_named(name), all);
    if (!status.code)
        status = whole_file_write(path, text.text.data, text.text.length, READERS_GROUP);
    csv_buffer_release(&text.text);
    return status;
}

/* Slurm opens the log of a task and makes no directory for it. */
static struct status make_logs(const char *job)
{
    char path[4352];
    (void)snprintf(path, sizeof path, "%s/logs", job);
    return file_make_directories(path);
}

struct status scripts_write(const struct scripts_request *request)
{
    struct substitutions all = { .count = 0 };
    char job[4096];
    if (!realpath(request->job, job))
        return status_error(STATUS_IO, "cannot find %s: %s", file_shown(request->job).text,
                            strerror(errno));
    set_values(&all, request, job);
    struct status status = make_logs(job);
    if (!status.code) status = write_script(job, "slurm.sh", &all);
    if (!status.code) status = write_script(job, "kubernetes.yaml", &all);
    release(&all);
    return status;
}
