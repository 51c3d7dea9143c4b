/* The functions of SQLite that the program calls, each handed on to the library. One that is missing here is
 * undefined when the program is linked: add its row. */
#include "graph/sqlite_library.h"

#ifdef PROBE_SQLITE_LIBRARY /* cmake/dependencies.cmake: the name under which it is loaded */

#include <sqlite3.h>

#include "core/late_library.h"

typedef void release(void *);
typedef int each_row(void *, int, char **, char **);

static struct late_library sqlite = LATE_LIBRARY(PROBE_SQLITE_LIBRARY, .prepare = NULL);

struct status sqlite_library_load(void) { return late_library_load(&sqlite); }

#define LATE(...) LATE_FUNCTION(sqlite, __VA_ARGS__)

/* clang-format off */
LATE(int, sqlite3_bind_double, (sqlite3_stmt *statement, int column, double value), (statement, column, value))
LATE(int, sqlite3_bind_int, (sqlite3_stmt *statement, int column, int value), (statement, column, value))
LATE(int, sqlite3_bind_int64, (sqlite3_stmt *statement, int column, sqlite3_int64 value), (statement, column, value))
LATE(int, sqlite3_bind_null, (sqlite3_stmt *statement, int column), (statement, column))
LATE(int, sqlite3_bind_text, (sqlite3_stmt *statement, int column, const char *text, int bytes, release *free_text), (statement, column, text, bytes, free_text))
LATE(int, sqlite3_close, (sqlite3 *database), (database))
LATE(const char *, sqlite3_errmsg, (sqlite3 *database), (database))
LATE(int, sqlite3_exec, (sqlite3 *database, const char *sql, each_row *tell, void *context, char **error), (database, sql, tell, context, error))
LATE(int, sqlite3_finalize, (sqlite3_stmt *statement), (statement))
LATE(int, sqlite3_open_v2, (const char *path, sqlite3 **database, int flags, const char *system), (path, database, flags, system))
LATE(int, sqlite3_prepare_v2, (sqlite3 *database, const char *sql, int bytes, sqlite3_stmt **statement, const char **rest), (database, sql, bytes, statement, rest))
LATE(int, sqlite3_reset, (sqlite3_stmt *statement), (statement))
LATE(int, sqlite3_step, (sqlite3_stmt *statement), (statement))
/* clang-format on */

#endif
