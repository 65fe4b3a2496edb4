/* Two threads that wait for each other, in a process that ends after some seconds. */
#include <pthread.h>
#include <unistd.h>
static pthread_barrier_t both;
static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER, totals = PTHREAD_MUTEX_INITIALIZER;
void *deposit(void *none) { pthread_mutex_lock(&accounts); pthread_barrier_wait(&both); pthread_mutex_lock(&totals); return none; }
void *withdraw(void *none) { pthread_mutex_lock(&totals); pthread_barrier_wait(&both); pthread_mutex_lock(&accounts); return none; }
int main(void) {
    pthread_t one, other;
    pthread_barrier_init(&both, 0, 2);
    pthread_create(&one, 0, deposit, 0);
    pthread_create(&other, 0, withdraw, 0);
    sleep(5);
    _exit(0);
}
