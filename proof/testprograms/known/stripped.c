// Without names, without debug information, without frame pointers: a profile has addresses then, with the build id by which
// names can be found where the debug information is.
#include "known.h"

// Each in a section of its own, whose bounds the linker knows.
#define IN(section_name) __attribute__((section("in_" #section_name))) APART
#define BOUNDS(name) extern const char __start_in_##name[], __stop_in_##name[]

BOUNDS(waits_inside);
BOUNDS(waits_between);
BOUNDS(waits_outside);
BOUNDS(holds);
extern const char __executable_start[];

static pthread_mutex_t nameless = PTHREAD_MUTEX_INITIALIZER;
static struct known *known_nameless;

IN(waits_inside) static void waits_inside(int *id)
{
    comes(id);
    LOCK(known_nameless);
    UNLOCK(known_nameless);
}

IN(waits_between) static void waits_between(int *id)
{
    // So that the stack pointer is not where a simple guess looks for it.
    char some[333];
    __asm__ volatile("" : : "r"(some) : "memory");
    waits_inside(id);
    __asm__ volatile("" : : "r"(some) : "memory");
}

IN(waits_outside) static void *waits_outside(void *id)
{
    waits_between(id);
    __asm__ volatile("");
    return NULL;
}

IN(holds) static void holds(void)
{
    pthread_t threads[2];
    int ids[2];
    LOCK(known_nameless);
    start_waiters(threads, ids, 2, waits_outside);
    sleep_ns(20 * MS);
    UNLOCK(known_nameless);
    join_all(threads, 2);
}

static double in_file(const char *address)
{
#ifdef __PIE__
    return (double)(address - __executable_start);
#else
    return (double)(uintptr_t)address;
#endif
}

#define FACTS(name)                                                                                                    \
    do {                                                                                                               \
        known_fact(#name "_from", in_file(__start_in_##name));                                                            \
        known_fact(#name "_to", in_file(__stop_in_##name));                                                               \
    } while (0)

int main(int n, char **arguments)
{
    known_begin();
    CHECK(n == 2);
    known_nameless = KNOWN_MUTEX("*", &nameless);
    for (int round = 0; round < 3; round++)
        holds();
    FACTS(waits_inside);
    FACTS(waits_between);
    FACTS(waits_outside);
    FACTS(holds);
    known_write(arguments[1], "exit");
    return 0;
}
