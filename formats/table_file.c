/* The common part of table files: temporary name, choice of the format, renaming. */
#include "formats/table_file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/memory.h"
#include "formats/table_file_internal.h"

static const struct table_writer *const writers[] = {
    [TABLE_CSV] = &table_csv_writer,
    [TABLE_XLSX] = &table_xlsx_writer,
};

const char *table_format_name(enum table_format format) { return writers[format]->name; }

bool table_format_available(enum table_format format) { return writers[format]->create != NULL; }

static void release(struct table_file *file)
{
    if (!file) return;
    memory_release(file->path);
    memory_release(file->part);
    memory_release(file);
}

/* "<path>.<process>.part": two processes that write the same table do not meet. */
static struct status name_files(struct table_file *file, const char *path)
{
    size_t bytes = strlen(path) + sizeof ".18446744073709551615.part";
    file->path = memory_copy_string(path);
    file->part = memory_allocate(bytes);
    if (!file->path || !file->part) return status_no_memory(bytes);
    (void)snprintf(file->part, bytes, "%s.%ld.part", path, (long)getpid());
    return status_ok();
}

struct status table_file_create(struct table_file **out, const char *path, enum table_format format)
{
    const struct table_writer *writer = writers[format];

    *out = NULL;
    if (!writer->create)
        return status_error(STATUS_BAD_ARGUMENT,
                            "this program was built without libxlsxwriter and cannot write .xlsx; "
                            "choose csv");
    struct table_file *file = memory_allocate_zeroed(1, sizeof *file);
    if (!file) return status_no_memory(sizeof *file);
    file->writer = writer;
    struct status status = name_files(file, path);
    /* What a process of this number left behind. */
    if (!status.code && file_exists(file->part)) status = file_remove(file->part);
    if (!status.code) status = writer->create(file);
    if (status.code) release(file);
    else *out = file;
    return status;
}

struct status table_file_add_sheet(struct table_file *file, const char *name)
{
    return file->writer->add_sheet(file, name);
}

struct status table_file_add_row(struct table_file *file, const struct table_cell *cells,
                                 size_t count, enum table_fill fill)
{
    return file->writer->add_row(file, cells, count, fill);
}

struct status table_file_finish(struct table_file *file)
{
    struct status status = file->writer->finish(file);
    if (!status.code) status = file_rename(file->part, file->path);
    if (status.code && file_exists(file->part)) (void)file_remove(file->part);
    release(file);
    return status;
}

void table_file_discard(struct table_file *file)
{
    if (!file) return;
    file->writer->discard(file);
    if (file_exists(file->part)) (void)file_remove(file->part);
    release(file);
}
