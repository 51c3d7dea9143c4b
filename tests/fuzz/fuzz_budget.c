/* A file of budgets, read strictly: what is taken is written and read again as the same text. */
#include "fuzz/memory_file.h"
#include "standards/budget.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct budget *read_text(const void *data, size_t size)
{
    struct budget *budget = NULL;
    struct memory_file file = memory_file_make(data, size);
    (void)budget_read(&budget, file.path, FILES_TRUSTED, NULL);
    memory_file_close(&file);
    return budget;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct csv_buffer first = { 0 }, second = { 0 };
    struct budget *budget = read_text(data, size);
    if (!budget) return 0;
    if (budget_write(&first, budget).code) abort();
    struct budget *again = read_text(first.data, first.length);
    if (!again || budget_write(&second, again).code) abort();
    if (first.length != second.length || memcmp(first.data, second.data, first.length)) abort();
    budget_settle(again);
    budget_release(budget);
    budget_release(again);
    csv_buffer_release(&first);
    csv_buffer_release(&second);
    return 0;
}
