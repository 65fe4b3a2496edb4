// Mutexes at rest are plain memory: copied, moved by realloc, overwritten with the static initializer, made anew with
// another kind or in memory that another one had without ever having been destroyed. What remembers mutexes by address
// loses them here.
#include "check.h"

struct holder {
    long before;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    volatile long count;
};

static void *add(void *argument)
{
    struct holder *holder = argument;
    for (int round = 0; round < 2000; round++) {
        OK(pthread_mutex_lock(&holder->mutex));
        holder->count++;
        if (round % 64 == 0)
            sched_yield();
        OK(pthread_mutex_unlock(&holder->mutex));
    }
    return NULL;
}

static void *wait_for_end(void *argument)
{
    struct holder *holder = argument;
    OK(pthread_mutex_lock(&holder->mutex));
    while (holder->count < 6000)
        OK(pthread_cond_wait(&holder->cond, &holder->mutex));
    OK(pthread_mutex_unlock(&holder->mutex));
    return NULL;
}

// Contended and waited with, and at rest afterwards.
static void use(struct holder *holder)
{
    pthread_t threads[3], waiter = start(wait_for_end, holder);
    holder->count = 0;
    for (int i = 0; i < 3; i++)
        threads[i] = start(add, holder);
    for (int i = 0; i < 3; i++)
        join_soon(threads[i], doing);
    CHECK(holder->count == 6000);
    OK(pthread_mutex_lock(&holder->mutex));
    OK(pthread_cond_broadcast(&holder->cond));
    OK(pthread_mutex_unlock(&holder->mutex));
    join_soon(waiter, doing);
}

static void make(struct holder *holder, int type)
{
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, type));
    OK(pthread_mutex_init(&holder->mutex, &attr));
    OK(pthread_cond_init(&holder->cond, NULL));
}

static void has_type(pthread_mutex_t *mutex, int type)
{
    OK(pthread_mutex_lock(mutex));
    if (type == PTHREAD_MUTEX_RECURSIVE) {
        OK(pthread_mutex_lock(mutex));
        OK(pthread_mutex_unlock(mutex));
    } else if (type == PTHREAD_MUTEX_ERRORCHECK) {
        GIVES(pthread_mutex_lock(mutex), EDEADLK);
    } else {
        GIVES(pthread_mutex_trylock(mutex), EBUSY);
    }
    OK(pthread_mutex_unlock(mutex));
}

int main(void)
{
    watchdog();
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                PTHREAD_MUTEX_ADAPTIVE_NP};
    for (int i = 0; i < 4; i++) {
        doing = "moved by realloc";
        size_t n = 1;
        struct holder *holders = calloc(n, sizeof *holders);
        make(&holders[0], types[i]);
        use(&holders[0]);
        for (; n < 20000; n *= 40) {
            // A neighbour in the way: the block cannot grow where it is.
            void *neighbour = malloc(64);
            holders = realloc(holders, 40 * n * sizeof *holders);
            CHECK(holders);
            has_type(&holders[0].mutex, types[i]);
            use(&holders[0]);
            free(neighbour);
        }

        doing = "copied";
        struct holder copy;
        memcpy(&copy, &holders[0], sizeof copy);
        memset(&holders[0], 0xa5, sizeof holders[0]);
        has_type(&copy.mutex, types[i]);
        use(&copy);
        free(holders);

        doing = "overwritten with the initializer";
        copy.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
        copy.cond = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
        has_type(&copy.mutex, PTHREAD_MUTEX_NORMAL);
        use(&copy);

        doing = "overwritten while held";
        OK(pthread_mutex_lock(&copy.mutex));
        memset(&copy.mutex, 0, sizeof copy.mutex);
        has_type(&copy.mutex, PTHREAD_MUTEX_NORMAL);
        use(&copy);

        doing = "destroyed and made anew";
        for (int k = 0; k < 4; k++) {
            OK(pthread_mutex_destroy(&copy.mutex));
            OK(pthread_cond_destroy(&copy.cond));
            make(&copy, types[(i + k) % 4]);
            has_type(&copy.mutex, types[(i + k) % 4]);
            use(&copy);
        }
        doing = "made out of anything";
        static const uint32_t anything[] = {1, 16, 17, 0xa5a5a5a5, UINT32_MAX};
        for (int k = 0; k < 5; k++) {
            for (size_t at = 0; at < sizeof copy / 4; at++)
                memcpy((char *)&copy + 4 * at, &anything[k], 4);
            make(&copy, types[i]);
            has_type(&copy.mutex, types[i]);
            use(&copy);
        }
        doing = "made anew without having been destroyed";
        for (int k = 0; k < 4; k++) {
            make(&copy, types[(i + k) % 4]);
            has_type(&copy.mutex, types[(i + k) % 4]);
            use(&copy);
        }
    }
    return 0;
}
