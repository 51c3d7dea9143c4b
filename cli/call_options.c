/* What every command on a call of a dump does first. */
#include "cli/call_options.h"

#include "cli/warning_printer.h"
#include "formats/file_stem.h"

struct status call_options_resolve(struct run_options *out, char dump[PATH_ARGUMENT_BYTES],
                                   const struct call_options *options)
{
    *out = options->run;
    TRY(path_argument_dump(dump, options->run.api_info, options->run.file_policy));
    out->api_info = dump;
    out->warnings = warning_printer;
    return status_ok();
}

const char *call_options_directory(struct arena *arena, const struct call_options *options,
                                   const char *given, const char *suffix)
{
    const char *stem = given ? given : file_stem(arena, options->name);
    return given || !stem ? given : arena_format(arena, "%s%s", stem, suffix);
}
