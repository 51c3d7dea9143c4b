/* Which kind of reproducer a backend has, and the files that are the same for all. */
#include "repro/repro.h"

#include <stdio.h>
#include <string.h>

#include "core/embedded.h"
#include "core/file.h"
#include "core/memory.h"
#include "core/whole_file.h"
#include "repro/fault.h"
#include "repro/kernel_source.h"
#include "repro/source_text.h"
#include "repro/torch_source.h"
#include "runner/repeat_command.h"

/* ---- files ------------------------------------------------------------------------------ */

static struct status write_text(const char *directory, const char *name, const char *text,
                                size_t bytes)
{
    char path[4200];
    int length = snprintf(path, sizeof path, "%s/%s", directory, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return status_error(STATUS_BAD_ARGUMENT, "'%.80s...' is too long a name", directory);
    return whole_file_write(path, text, bytes, READERS_GROUP);
}

static struct status write_templates(const char *directory, const char *const *names)
{
    for (; *names; names++)
        for (const struct embedded_file *file = repro_files; file->name; file++)
            if (!strcmp(file->name, *names))
                TRY(write_text(directory, file->name, file->text, file->bytes));
    return status_ok();
}

/* ---- README.md -------------------------------------------------------------------------- */

static void put_kernel_manual(struct text_out *out)
{
    text_out_string(out,
                    "    cmake -S . -B build && cmake --build build\n    ./build/reproducer\n\n"
                    "or `cc -o reproducer reproducer.c -lm -ldl`, run in this folder. Other "
                    "builds of the libraries are given as\narguments, in the order in which "
                    "`paths` in `reproducer.c` has them:\n\n    ./build/reproducer "
                    "/path/to/lib.so\n");
}

static void put_torch_manual(struct text_out *out)
{
    text_out_string(out,
                    "    python3 reproducer.py\n    python3 reproducer.py --device cuda\n"
                    "    python3 reproducer.py --device npu\n\nIt needs PyTorch 1.11 or later, "
                    "and torch_npu for an NPU.\n");
}

/* Lines between fences: no line of the evidence may end them. */
static void put_fenced(struct text_out *out, const char *text)
{
    text_out_string(out, "```text\n");
    for (; *text; text++) text_out_bytes(out, *text == '`' ? "'" : text, 1);
    text_out_string(out, "```\n");
}

static struct status write_readme(const char *directory, const struct fault *fault,
                                  enum reproducer_kind kind)
{
    struct text_out out = { .status.code = STATUS_OK };
    text_out_string(&out, "# ");
    source_put_comment(&out, fault->failure.row);
    text_out_string(&out, "\n\nA call ");
    text_out_string(&out, fault->has_values
                              ? "whose result is wrong, with its inputs and with what is right"
                              : "in which the kernel fails, with its inputs");
    text_out_string(&out, ".\n\n## Run it\n\n");
    if (kind == REPRODUCER_KERNEL) put_kernel_manual(&out);
    else put_torch_manual(&out);
    text_out_string(&out,
                    "\nExit status: 1 when the fault is there, 0 when not, 2 when the library "
                    "or device cannot be used.\n\n## The evidence\n\n");
    put_fenced(&out, fault->evidence);
    if (fault->has_values)
        text_out_string(
            &out, "\nWhat is right was computed in higher precision and carries a proven "
                  "bound on its own error. A number counts as wrong\nwhen it is further from "
                  "that than a right kernel can be: its rounding errors in the worst order of "
                  "summation, and\nthe rounding of the result. `worst ulp` is the element "
                  "that the evidence names.\n");
    struct status status = out.status;
    if (!status.code) status = write_text(directory, "README.md", out.text.data, out.text.length);
    csv_buffer_release(&out.text);
    return status;
}

/* ---- all of it -------------------------------------------------------------------------- */

/* The device that the backend's text names: "torch:cuda:1". */
static const char *torch_device(const char *backend)
{
    const char *colon = strchr(backend, ':');
    return colon && colon[1] ? colon + 1 : "cpu";
}

static struct status write_all(struct fault *fault, const struct run_options *options,
                               enum reproducer_kind kind, const char *directory)
{
    static const char *const kernel_files[] = { "compare.h", "CMakeLists.txt", NULL };
    const char *title =
        arena_format(&fault->arena, "%s: %s", fault->failure.row, fault->failure.sentence);
    if (!title) return status_no_memory(0);
    if (!fault_is_of_device(fault) && !fault->wrong)
        return status_error(STATUS_SKIP, "%s: %s: no single element is wrong", fault->failure.row,
                            fault->failure.sentence);
    const char *framework = dump_header(fault->call.inputs.dump)->framework;
    if (kind == REPRODUCER_TORCH && framework && strcmp(framework, "pytorch") != 0)
        return status_error(STATUS_SKIP, "%s: calls of %s have no reproducer", fault->failure.row,
                            framework);
    TRY(file_make_directories(directory));
    if (kind == REPRODUCER_KERNEL) {
        TRY(kernel_source_write(directory, fault, options->backend, title, options->file_policy));
        TRY(write_templates(directory, kernel_files));
    } else {
        TRY(torch_source_write(directory, fault, torch_device(options->backend), title));
    }
    return write_readme(directory, fault, kind);
}

struct status repro_write(struct repro_result *out, const struct run_options *options,
                          const char *name, const char *directory)
{
    enum reproducer_kind kind = reproducer_kind_of(options);
    const char *why = NULL;
    *out = (struct repro_result){ .judged = false };
    if (kind == REPRODUCER_NONE)
        return status_error(
            STATUS_BAD_ARGUMENT,
            "a reproducer is for a kernel of a plugin or for PyTorch (plugin:, torch, "
            "recorded), not for the backend %s",
            options->backend);
    struct fault *fault = memory_allocate_zeroed(1, sizeof *fault);
    if (!fault) return status_no_memory(sizeof *fault);
    struct status status = fault_open(fault, &out->fails, &why, options, name);
    out->judged = out->fails || fault->judged;
    if (!status.code && out->fails) status = write_all(fault, options, kind, directory);
    if (out->fails)
        (void)snprintf(out->text, sizeof out->text, "%s: %s: %s", fault->failure.row,
                       verdict_name(fault->failure.verdict), fault->failure.sentence);
    else if (why) (void)snprintf(out->text, sizeof out->text, "%s", why);
    text_tidy(out->text);
    fault_close(fault);
    memory_release(fault);
    return status;
}
