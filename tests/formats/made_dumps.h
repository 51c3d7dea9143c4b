/* Dumps made up of a few entries, opened one after the other. */
#ifndef PROBE_TESTS_FORMATS_MADE_DUMPS_H
#define PROBE_TESTS_FORMATS_MADE_DUMPS_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/dump.h"
#include "support/scratch.h"
#include "support/suite.h"

static struct scratch scratch;
static struct arena arena;
static struct dump *dump;

__attribute__((unused)) static void start(void)
{
    scratch = scratch_make();
    arena = (struct arena){ 0 };
    dump = NULL;
}

__attribute__((unused)) static void finish(void)
{
    dump_close(dump);
    arena_release(&arena);
    scratch_remove(&scratch);
}

__attribute__((unused)) static struct status open_text(const char *text)
{
    dump_close(dump);
    dump = NULL;
    remove(scratch_path(&scratch, "dump.json"));
    return dump_open(&dump, scratch_text(&scratch, "dump.json", text), FILES_CHECKED);
}

/* Open a dump of the given entries. */
__attribute__((unused)) static void open_entries(const char *entries)
{
    char *text = malloc(strlen(entries) + 64);
    sprintf(text, "{\"data\": {%s}}", entries);
    struct status status = open_text(text);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    free(text);
}

/* The one argument of a call whose input_args holds just `json`. */
__attribute__((unused)) static struct status read_argument(struct value *out, const char *json)
{
    struct api_case c;
    char *entry = malloc(strlen(json) + 128);
    sprintf(entry, "\"Torch.f.0.forward\": {\"input_args\": [%s], \"output\": []}", json);
    open_entries(entry);
    free(entry);
    struct status status = dump_read_case(&c, &arena, dump, 0);
    if (!status.code) {
        ck_assert_uint_eq(c.args.list.count, 1);
        *out = c.args.list.items[0];
    }
    return status;
}

__attribute__((unused)) static struct value argument(const char *json)
{
    struct value value = { 0 };
    struct status status = read_argument(&value, json);
    ck_assert_msg(status.code == STATUS_OK, "%s", status.text);
    return value;
}

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

#endif
