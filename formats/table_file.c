/* The common part of table files: the choice of the format, and the file around what it writes. */
#include "formats/table_file.h"

#include "core/memory.h"
#include "formats/table_file_internal.h"

static const struct table_writer *const writers[] = {
    [TABLE_CSV] = &table_csv_writer,
    [TABLE_XLSX] = &table_xlsx_writer,
};

const char *table_format_name(enum table_format format) { return writers[format]->name; }

struct status table_file_create(struct table_file **out, const char *path, enum table_format format,
                                unsigned threads)
{
    const struct table_writer *writer = writers[format];

    *out = NULL;
    struct table_file *file = memory_allocate_zeroed(1, sizeof *file);
    if (!file) return status_no_memory(sizeof *file);
    file->writer = writer;
    file->threads = threads;
    struct status status = new_file_create(&file->file, path);
    if (!status.code) status = writer->create(file);
    if (!status.code) {
        *out = file;
        return status;
    }
    new_file_abandon(&file->file);
    memory_release(file);
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
    struct status status = new_file_end(&file->file, file->writer->finish(file));
    memory_release(file);
    return status;
}

void table_file_discard(struct table_file *file)
{
    if (!file) return;
    file->writer->discard(file);
    new_file_abandon(&file->file);
    memory_release(file);
}
