/* The cases of a JUnit report, of a details file and its evidence (behind a record separator): what fails
 * has a sentence, and the notes are text that XML takes. */
#include <assert.h>
#include <string.h>

#include "fuzz/memory_file.h"
#include "report/junit_cases.h"

static void look_at(const struct junit_cases *cases)
{
    for (uint32_t i = 0; i < cases->names.count; i++) {
        const struct junit_case *c = &cases->items[i];
        size_t length;
        const char *name = text_table_get(&cases->names, i, &length);
        bool fails = c->verdict == VERDICT_ERROR || c->verdict == VERDICT_WARNING;
        assert(c->call_length <= length && name[length] == '\0');
        assert(!fails || (c->sentence && !strpbrk(c->sentence, "\n\r\t")));
        for (size_t k = 0; k < c->notes.length; k++) {
            unsigned char byte = (unsigned char)c->notes.data[k];
            assert(byte >= ' ' || byte == '\n' || byte == '\r' || byte == '\t');
            assert(byte != '<' && byte != '"');
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct part details = next_part(&data, &size);
    struct memory_file csv = memory_file_make(details.data, details.size);
    struct memory_file evidence = memory_file_make(data, size);
    struct junit_cases cases;
    struct status status = junit_cases_read(&cases, csv.path, evidence.path);
    if (!status.code) look_at(&cases);
    else assert(status.code == STATUS_BAD_INPUT);
    junit_cases_release(&cases);
    memory_file_close(&csv);
    memory_file_close(&evidence);
    return 0;
}
