// Events enough for samples: two million acquisitions that nobody waits for, by two functions, and thousands of short waits
// for one lock, with holders that hold it for different times.
// An arrival that finds the lock free but others before it may wait, too.
#define KNOWN_LONGEST_NS 30000
#include "known.h"

static pthread_mutex_t often = PTHREAD_MUTEX_INITIALIZER, fought_for = PTHREAD_MUTEX_INITIALIZER;
static struct known *known_often, *known_fought_for;
static int64_t end;

#define TAKES(name)                                                                                                    \
    APART static void name(int n)                                                                                      \
    {                                                                                                                  \
        for (int i = 0; i < n; i++) {                                                                                  \
            OK(pthread_mutex_lock(&often));                                                                            \
            OK(pthread_mutex_unlock(&often));                                                                          \
        }                                                                                                              \
        COUNT(known_often, n);                                                                                         \
    }

TAKES(takes_often)
TAKES(takes_less_often)

#define HOLDS(name, ns)                                                                                                \
    APART static void *name(void *argument)                                                                            \
    {                                                                                                                  \
        while (known_now() < end) {                                                                                    \
            LOCK(known_fought_for);                                                                                    \
            sleep_ns(ns);                                                                                              \
            UNLOCK(known_fought_for);                                                                                  \
            sleep_ns(500000);                                                                                          \
        }                                                                                                              \
        return argument;                                                                                               \
    }

HOLDS(holds_for_short, 10000)
HOLDS(holds_for_longer, 150000)

int main(int n, char **arguments)
{
    known_begin();
    CHECK(n == 2);
    known_often = KNOWN_MUTEX("often", &often);
    known_fought_for = KNOWN_MUTEX("fought_for", &fought_for);
    for (int round = 0; round < 100; round++) {
        takes_often(15000);
        takes_less_often(5000);
    }
    end = known_now() + 1500 * MS;
    pthread_t threads[6];
    for (int i = 0; i < 6; i++)
        threads[i] = start(i < 3 ? holds_for_short : holds_for_longer, NULL);
    join_all(threads, 6);
    known_write(arguments[1], "exit");
    return 0;
}
