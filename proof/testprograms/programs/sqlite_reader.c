/* Threads that each read a database of their own in memory: sqlite_reader THREADS SECONDS
 *
 * They share nothing but SQLite's allocator, whose statistics are kept under one mutex; that mutex is taken several times for
 * each point select. Each row read is compared with what was written. */

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROWS = 1000, THREADS_MOST = 1024 };

static atomic_int stop;

struct worker {
    _Alignas(128) pthread_t thread;
    unsigned number;
    uint64_t reads, wrong;
};

static void must(int is_fine, sqlite3 *db, const char *what) {
    if (is_fine) return;
    fprintf(stderr, "%s: %s\n", what, db ? sqlite3_errmsg(db) : "failed");
    exit(1);
}

static sqlite3 *filled(void) {
    sqlite3 *db = NULL;
    must(sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK,
         db, "open");
    char sql[256];
    snprintf(sql, sizeof sql,
             "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT);"
             "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
             "INSERT INTO t SELECT i, printf('row %%d', i) FROM n", ROWS - 1);
    must(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, db, "fill");
    return db;
}

/* Whether the row says the number that it was asked for. */
static int is_row(sqlite3_stmt *select, int id) {
    int is_right = 0, seen = -1;
    if (sqlite3_step(select) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(select, 1);
        is_right = name && sscanf(name, "row %d", &seen) == 1 && seen == id && sqlite3_column_int(select, 0) == id;
    }
    return is_right & (sqlite3_step(select) == SQLITE_DONE);
}

static void *read_rows(void *argument) {
    struct worker *me = argument;
    sqlite3 *db = filled();
    sqlite3_stmt *select = NULL;
    must(sqlite3_prepare_v2(db, "SELECT id, name FROM t WHERE id = ?1", -1, &select, NULL) == SQLITE_OK, db, "prepare");
    uint64_t state = me->number * 0x9E3779B97F4A7C15u + 1;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        int id = (int)(state % ROWS);
        sqlite3_bind_int(select, 1, id);
        me->wrong += !is_row(select, id);
        me->reads++;
        sqlite3_reset(select);
    }
    sqlite3_finalize(select);
    sqlite3_close(db);
    return NULL;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    unsigned n_threads = argc == 3 ? (unsigned)atoi(argv[1]) : 0;
    if (n_threads == 0 || n_threads > THREADS_MOST) {
        fprintf(stderr, "usage: sqlite_reader THREADS SECONDS\n");
        return 2;
    }
    static struct worker workers[THREADS_MOST];
    double seconds = atof(argv[2]), start = now();
    for (unsigned i = 0; i < n_threads; i++) {
        workers[i].number = i + 1;
        must(pthread_create(&workers[i].thread, NULL, read_rows, &workers[i]) == 0, NULL, "pthread_create");
    }
    struct timespec rest = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
    nanosleep(&rest, NULL);
    atomic_store(&stop, 1);
    uint64_t reads = 0, wrong = 0;
    for (unsigned i = 0; i < n_threads; i++) {
        pthread_join(workers[i].thread, NULL);
        reads += workers[i].reads, wrong += workers[i].wrong;
    }
    printf("ops %llu\nseconds %f\nwrong %llu\n", (unsigned long long)reads, now() - start, (unsigned long long)wrong);
    return wrong ? 1 : 0;
}
