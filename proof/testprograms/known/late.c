/* A thread waits for `lock` ten times, 20 ms each time. After the first five, and a while, the lock gets another name. */
#include "ondeck.h"
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t held, done;
static void *wait_for_it(void *unused)
{
    for (int i = 0; i < 10; i++) {
        sem_wait(&held);
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        sem_post(&done);
    }
    return unused;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_it, NULL);
    for (int i = 0; i < 10; i++) {
        if (i == 5) {
            usleep(500000);
            ondeck_name(&lock, "late");
        }
        pthread_mutex_lock(&lock);
        sem_post(&held);
        usleep(20000);
        pthread_mutex_unlock(&lock);
        sem_wait(&done);
    }
    pthread_join(thread, NULL);
    return 0;
}
