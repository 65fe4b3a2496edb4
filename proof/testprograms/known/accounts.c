/* Ten accounts with a mutex each, one after the other, and an array of three mutexes; each is waited for once. */
#include <pthread.h>
#include <stdlib.h>
#include "sleepers.h"
#define APART __attribute__((noinline))
struct account { long balance; pthread_mutex_t mutex; };
static pthread_mutex_t shards[3];
static int n_transfers;
APART static void *transfer(void *mutex)
{
    pthread_mutex_lock(mutex);
    // The first of two: until the other one waits, and main for both.
    if (n_transfers++ % 2 == 0)
        until_in_futex(2);
    pthread_mutex_unlock(mutex);
    return NULL;
}
APART static void use(pthread_mutex_t *mutex)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, transfer, mutex);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}
APART static struct account *open_account(void)
{
    struct account *account = malloc(sizeof *account);
    pthread_mutex_init(&account->mutex, NULL);
    return account;
}
int main(void)
{
    for (int i = 0; i < 10; i++) {
        struct account *account = open_account();
        use(&account->mutex);
        pthread_mutex_destroy(&account->mutex);
        free(account);
    }
    for (int i = 0; i < 3; i++)
        use(&shards[i]);
    return 0;
}
