// How much of its stack a coroutine uses that locks for a second: it is painted before, and so is what lies below it. With `alone`
// no other thread locks. Says how many bytes were used, and how many below the stack were overwritten.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { SIZE = 64 << 10, PAINT = 0x5a };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static ucontext_t home, coroutine;
static volatile int is_over;

static void nap(long ns)
{
    struct timespec length = {0, ns};
    nanosleep(&length, NULL);
}

static void turn(void)
{
    pthread_mutex_lock(&mutex);
    nap(100000);
    pthread_mutex_unlock(&mutex);
    nap(100000);
}

static void body(void)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        turn();
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 1500);
}

static void *other(void *unused)
{
    while (!is_over)
        turn();
    return unused;
}

static void *run(void *unused)
{
    char *area;
    if (posix_memalign((void **)&area, 4096, 2 * SIZE) != 0)
        exit(1);
    memset(area, PAINT, 2 * SIZE);
    char *stack = area + SIZE;
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = SIZE;
    coroutine.uc_link = &home;
    makecontext(&coroutine, body, 0);
    swapcontext(&home, &coroutine);
    long first = 0;
    while (first < 2 * SIZE && area[first] == PAINT)
        first++;
    printf("%ld used, %d below\n", 2 * SIZE - first, first < SIZE);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    int is_alone = argc > 1 && !strcmp(argv[1], "alone");
    if (!is_alone)
        pthread_create(&threads[1], NULL, other, NULL);
    pthread_create(&threads[0], NULL, run, NULL);
    pthread_join(threads[0], NULL);
    is_over = 1;
    if (!is_alone)
        pthread_join(threads[1], NULL);
    return 0;
}
