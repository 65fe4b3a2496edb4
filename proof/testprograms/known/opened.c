// A lock in a library that is opened after others have waited for the program's own; and one in a library that is closed again
// before the program ends. Both are opened_lib.c; flags name their files.
#include "known.h"
#include <dlfcn.h>

// When the lock was wanted and had, and until when it was held.
struct times {
    int64_t want, have, until;
    int line, is_holder, thread;
    // Who waits, and whether it does; whether it is held.
    int *id, *is_there, *is_held;
};

static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static struct known *known_own;
static void (*uses_lock)(struct times *times);

APART static void *waits_for_own(void *id)
{
    comes(id);
    LOCK(known_own);
    UNLOCK(known_own);
    return NULL;
}

APART static void holds_own(void)
{
    pthread_t thread;
    int id;
    LOCK(known_own);
    start_waiters(&thread, &id, 1, waits_for_own);
    sleep_ns(20 * MS);
    UNLOCK(known_own);
    join_all(&thread, 1);
}

APART static void *goes_into_library(void *argument)
{
    struct times *times = argument;
    if (!times->is_holder)
        comes(times->id);
    times->thread = (int)thread_id();
    uses_lock(times);
    __asm__ volatile("");
    return NULL;
}

static void note(struct known *lock, const struct times *times)
{
    struct known_record *record =
        &known_records[known_note(lock, TOOK, times->want, times->have, "waits_in_library", times->line)];
    record->thread = times->thread;
    record->until = times->until;
}

static void use(struct known *lock)
{
    for (int round = 0; round < 2; round++) {
        int id = 0, is_there = 0, is_held = 0;
        struct times holder = {.is_holder = 1, .is_there = &is_there, .is_held = &is_held}, waiter = {.id = &id};
        pthread_t holding = start(goes_into_library, &holder);
        while (!__atomic_load_n(&is_held, __ATOMIC_ACQUIRE))
            sleep_ns(MS / 10);
        pthread_t waiting = start(goes_into_library, &waiter);
        until_asleep(&id);
        __atomic_store_n(&is_there, 1, __ATOMIC_RELEASE);
        join_soon(holding, "a holder in the library");
        join_soon(waiting, "a waiter in the library");
        note(lock, &holder);
        note(lock, &waiter);
    }
}

static void *opens(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        FAIL("%s", dlerror());
    *(void **)&uses_lock = dlsym(handle, "waits_in_library");
    CHECK(uses_lock != NULL);
    return handle;
}

int main(int n, char **arguments)
{
    known_begin();
    CHECK(n == 2);
    known_own = KNOWN_MUTEX("own", &own);
    holds_own();
    void *handle = opens(LIBRARY);
    use(KNOWN_MUTEX("lock_of_library", dlsym(handle, "lock_of_library")));
    // The same source as another library, which does not stay.
    handle = opens(CLOSED_LIBRARY);
    use(KNOWN_MUTEX("lock_of_closed_library", dlsym(handle, "lock_of_closed_library")));
    CHECK(dlclose(handle) == 0);
    holds_own();
    known_write(arguments[1], "exit");
    return 0;
}
