/* Programs with a known culprit in C, by name: what `ondeck profile` is to say first is in the list of the tests. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#define APART __attribute__((noinline))

static struct timespec start;
static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - start.tv_sec + (now.tv_nsec - start.tv_nsec) / 1e9;
}
static int goes_on(void) { return seconds() < 1.2; }
static void compute(int us)
{
    for (double until = seconds() + us / 1e6; seconds() < until;) {}
}

/* Replies are written with the lock, to somebody who reads slowly. */
static pthread_mutex_t outbox = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
APART static void reply(void)
{
    static char text[64 << 10];
    pthread_mutex_lock(&outbox);
    if (write(ends[0], text, sizeof text) < 0)
        abort();
    pthread_mutex_unlock(&outbox);
}
static void *answer(void *none)
{
    while (goes_on())
        reply(), compute(20);
    return none;
}
static void *read_slowly(void *none)
{
    char text[64 << 10];
    while (read(ends[1], text, sizeof text) > 0)
        usleep(3000);
    return none;
}

/* A long reading keeps a writer waiting, beside many short ones. */
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static volatile long rows;
APART static void dump(void)
{
    pthread_rwlock_rdlock(&table);
    compute(6000);
    pthread_rwlock_unlock(&table);
    rows++;
}
APART static void look_up(void)
{
    pthread_rwlock_rdlock(&table);
    rows++;
    pthread_rwlock_unlock(&table);
    rows++;
}
APART static void insert(void)
{
    pthread_rwlock_wrlock(&table);
    rows++;
    pthread_rwlock_unlock(&table);
    rows++;
}
static void *dumps(void *none)
{
    while (goes_on())
        dump(), usleep(2000);
    return none;
}
static void *looks_up(void *none)
{
    while (goes_on())
        look_up(), usleep(100);
    return none;
}
static void *inserts(void *none)
{
    while (goes_on())
        insert(), usleep(300);
    return none;
}

/* Accounts on the heap, each with its lock, of which one is wanted by all. */
struct account {
    pthread_mutex_t lock;
    long balance;
};
static struct account *accounts[20];
APART static void book(struct account *account, int us)
{
    pthread_mutex_lock(&account->lock);
    compute(us);
    account->balance++;
    pthread_mutex_unlock(&account->lock);
}
static void *books(void *none)
{
    for (long turn = 0; goes_on(); turn++)
        book(accounts[turn % 20], 1), book(accounts[7], 800);
    return none;
}

static void run(int n, void *(*const bodies[])(void *))
{
    pthread_t threads[4];
    for (int i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, bodies[i], NULL);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

int main(int n_words, char **words)
{
    const char *name = n_words > 1 ? words[1] : "";
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (strcmp(name, "outbox") == 0) {
        pthread_t reader;
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
            return 2;
        pthread_create(&reader, NULL, read_slowly, NULL);
        run(3, (void *(*const[])(void *)){answer, answer, answer});
        close(ends[0]);
        pthread_join(reader, NULL);
    } else if (strcmp(name, "table") == 0) {
        run(3, (void *(*const[])(void *)){dumps, looks_up, inserts});
    } else if (strcmp(name, "accounts") == 0) {
        for (int i = 0; i < 20; i++) {
            accounts[i] = calloc(1, sizeof *accounts[i]);
            pthread_mutex_init(&accounts[i]->lock, NULL);
        }
        run(3, (void *(*const[])(void *)){books, books, books});
    } else {
        return 2;
    }
    return 0;
}
