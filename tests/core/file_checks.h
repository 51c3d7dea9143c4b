/* What the tests of file operations share: texts of statuses, and system calls made to fail. */
#ifndef PROBE_TESTS_CORE_FILE_CHECKS_H
#define PROBE_TESTS_CORE_FILE_CHECKS_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "core/file.h"
#include "core/memory.h"
#include "support/scratch.h"
#include "support/suite.h"

#define CONTAINS(status, text_) \
    ck_assert_msg(strstr((status).text, text_) != NULL, "'%s' lacks '%s'", (status).text, text_)

static enum file_operation faulty;
static int fault_number, calls_left;

__attribute__((unused)) static int fail_once(enum file_operation operation, const char *path)
{
    ck_assert_ptr_nonnull(path);
    if (operation != faulty || calls_left-- > 0) return 0;
    file_fault = NULL;
    return fault_number;
}

__attribute__((unused)) static void arm(enum file_operation operation, int number, int calls)
{
    faulty = operation;
    fault_number = number;
    calls_left = calls;
    file_fault = fail_once;
}

#endif
