// Four threads take turns, each in a function of its own that holds the lock for 5 ms while the other three wait. The first holds
// it until the others wait, so that it is certain who does.
#include "known.h"

#define N_THREADS 4
#define N_ROUNDS 12

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static struct known *known_shared;
static int holder, are_all_there;

// Until somebody else has it: who asks again at once gets it again.
static void leave_it_to_others(int me)
{
    int64_t end = known_now() + 50 * MS;
    while (__atomic_load_n(&holder, __ATOMIC_RELAXED) == me && known_now() < end)
        sleep_ns(MS / 10);
}

#define TURN(name, me)                                                                                                 \
    APART static void *name(void *argument)                                                                            \
    {                                                                                                                  \
        comes(argument);                                                                                               \
        for (int round = 0; round < N_ROUNDS; round++) {                                                               \
            LOCK(known_shared);                                                                                        \
            __atomic_store_n(&holder, me, __ATOMIC_RELAXED);                                                           \
            do                                                                                                         \
                sleep_ns(5 * MS);                                                                                      \
            while (!__atomic_load_n(&are_all_there, __ATOMIC_RELAXED));                                                \
            UNLOCK(known_shared);                                                                                      \
            leave_it_to_others(me);                                                                                    \
        }                                                                                                              \
        return NULL;                                                                                                   \
    }

TURN(turn_of_the_first, 1)
TURN(turn_of_the_second, 2)
TURN(turn_of_the_third, 3)
TURN(turn_of_the_fourth, 4)

int main(int n, char **arguments)
{
    void *(*const turns[N_THREADS])(void *) = {turn_of_the_first, turn_of_the_second, turn_of_the_third, turn_of_the_fourth};
    pthread_t threads[N_THREADS];
    int ids[N_THREADS] = {0};
    known_begin();
    CHECK(n == 2);
    known_shared = KNOWN_MUTEX("shared", &shared);
    for (int i = 0; i < N_THREADS; i++) {
        threads[i] = start(turns[i], &ids[i]);
        while (__atomic_load_n(&holder, __ATOMIC_RELAXED) == 0)
            sleep_ns(MS / 10);
        until_asleep(&ids[i]);
    }
    __atomic_store_n(&are_all_there, 1, __ATOMIC_RELAXED);
    join_all(threads, N_THREADS);
    known_write(arguments[1], "exit");
    return 0;
}
