// The mutexes and condition variables of C11, which are those of pthread under other names and with other codes.
#include "check.h"
#include <threads.h>

#define N_THREADS 4
#define N_ROUNDS 5000

static mtx_t mutex;
static cnd_t cond;
static long count;
static int turn, is_timed;

static int another(void *argument)
{
    int *codes = argument;
    struct timespec end = in_ns(CLOCK_REALTIME, MS);
    codes[0] = mtx_trylock(&mutex);
    codes[1] = is_timed ? mtx_timedlock(&mutex, &end) : thrd_timedout;
    if (codes[1] == thrd_timedout && is_timed && now_ns(CLOCK_REALTIME) < ns_of(&end))
        codes[1] = -1;
    return 17;
}

static int add(void *argument)
{
    (void)argument;
    for (int round = 0; round < N_ROUNDS; round++) {
        struct timespec end = in_ns(CLOCK_REALTIME, 50 * SECOND);
        if (is_timed && round % 2) {
            CHECK(mtx_timedlock(&mutex, &end) == thrd_success);
        } else if (round % 5 == 0) {
            while (mtx_trylock(&mutex) == thrd_busy)
                thrd_yield();
        } else {
            CHECK(mtx_lock(&mutex) == thrd_success);
        }
        count++;
        CHECK(mtx_unlock(&mutex) == thrd_success);
    }
    return 0;
}

static int take_turns(void *argument)
{
    int me = *(int *)argument;
    for (int round = 0; round < 300; round++) {
        CHECK(mtx_lock(&mutex) == thrd_success);
        struct timespec end = in_ns(CLOCK_REALTIME, 50 * SECOND);
        while (turn % N_THREADS != me)
            CHECK((round % 2 ? cnd_wait(&cond, &mutex) : cnd_timedwait(&cond, &mutex, &end)) == thrd_success);
        turn++;
        CHECK(cnd_broadcast(&cond) == thrd_success);
        CHECK(mtx_unlock(&mutex) == thrd_success);
    }
    return 0;
}

static int wait_for_signal(void *argument)
{
    int *state = argument;
    CHECK(mtx_lock(&mutex) == thrd_success);
    state[0] = 1;
    while (!state[1])
        CHECK(cnd_wait(&cond, &mutex) == thrd_success);
    CHECK(mtx_unlock(&mutex) == thrd_success);
    return 0;
}

static void signal_one(void)
{
    int state[2] = {0, 0};
    thrd_t thread;
    CHECK(thrd_create(&thread, wait_for_signal, state) == thrd_success);
    for (int waits = 0; !waits; thrd_yield()) {
        CHECK(mtx_lock(&mutex) == thrd_success);
        waits = state[0];
        state[1] = waits;
        CHECK(mtx_unlock(&mutex) == thrd_success);
    }
    CHECK(cnd_signal(&cond) == thrd_success);
    CHECK(thrd_join(thread, NULL) == thrd_success);
}

static void with_type(int type)
{
    doing = type & mtx_recursive ? "recursive" : "plain or timed";
    is_timed = (type & mtx_timed) != 0;
    memset(&mutex, 0xa5, sizeof mutex);
    memset(&cond, 0xa5, sizeof cond);
    CHECK(mtx_init(&mutex, type) == thrd_success);
    CHECK(cnd_init(&cond) == thrd_success);

    CHECK(mtx_lock(&mutex) == thrd_success);
    int codes[2] = {-1, -1}, result = 0;
    thrd_t thread;
    CHECK(thrd_create(&thread, another, codes) == thrd_success);
    CHECK(thrd_join(thread, &result) == thrd_success);
    CHECK(result == 17);
    CHECK(codes[0] == thrd_busy);
    CHECK(codes[1] == thrd_timedout);
    if (type & mtx_recursive) {
        CHECK(mtx_lock(&mutex) == thrd_success);
        CHECK(mtx_trylock(&mutex) == thrd_success);
        CHECK(mtx_unlock(&mutex) == thrd_success);
        CHECK(mtx_unlock(&mutex) == thrd_success);
    } else {
        CHECK(mtx_trylock(&mutex) == thrd_busy);
    }
    struct timespec end = in_ns(CLOCK_REALTIME, 2 * MS), past = to_timespec(SECOND), wrong = end;
    int code;
    while ((code = cnd_timedwait(&cond, &mutex, &end)) == thrd_success) {
    }
    CHECK(code == thrd_timedout);
    CHECK(now_ns(CLOCK_REALTIME) >= ns_of(&end));
    CHECK(cnd_timedwait(&cond, &mutex, &past) == thrd_timedout);
    wrong.tv_nsec = -1;
    CHECK(cnd_timedwait(&cond, &mutex, &wrong) == thrd_error);
    CHECK(mtx_unlock(&mutex) == thrd_success);

    thrd_t threads[N_THREADS];
    int indices[N_THREADS];
    count = turn = 0;
    for (int i = 0; i < N_THREADS; i++)
        CHECK(thrd_create(&threads[i], add, NULL) == thrd_success);
    for (int i = 0; i < N_THREADS; i++)
        CHECK(thrd_join(threads[i], NULL) == thrd_success);
    CHECK(count == (long)N_THREADS * N_ROUNDS);
    for (int i = 0; i < N_THREADS; i++) {
        indices[i] = i;
        CHECK(thrd_create(&threads[i], take_turns, &indices[i]) == thrd_success);
    }
    for (int i = 0; i < N_THREADS; i++)
        CHECK(thrd_join(threads[i], NULL) == thrd_success);
    CHECK(turn == 300 * N_THREADS);
    signal_one();
    cnd_destroy(&cond);
    mtx_destroy(&mutex);
    CHECK(mtx_trylock(&mutex) == thrd_error);
}

static void mixed_with_pthread(void)
{
    // Undefined by the standards, but glibc's are the same objects, and libraries of both kinds meet in one program.
    mtx_t both;
    CHECK(mtx_init(&both, mtx_plain) == thrd_success);
    CHECK(mtx_lock(&both) == thrd_success);
    GIVES(pthread_mutex_trylock((pthread_mutex_t *)(void *)&both), EBUSY);
    OK(pthread_mutex_unlock((pthread_mutex_t *)(void *)&both));
    CHECK(mtx_trylock(&both) == thrd_success);
    CHECK(mtx_unlock(&both) == thrd_success);
    OK(pthread_mutex_lock((pthread_mutex_t *)(void *)&both));
    CHECK(mtx_trylock(&both) == thrd_busy);
    CHECK(mtx_unlock(&both) == thrd_success);
    mtx_destroy(&both);
}

int main(void)
{
    watchdog();
    with_type(mtx_plain);
    with_type(mtx_timed);
    with_type(mtx_plain | mtx_recursive);
    with_type(mtx_timed | mtx_recursive);
    mixed_with_pthread();
    // No type of mutex: undefined in C, and taken for another one by glibc.
    if (is_preloaded()) {
        mtx_t mutex;
        CHECK(mtx_init(&mutex, 4) == thrd_error);
        CHECK(mtx_init(&mutex, -1) == thrd_error);
    }
    return 0;
}
