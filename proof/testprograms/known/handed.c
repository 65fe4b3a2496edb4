/* One thread makes what another one waits for, with a condition variable. */
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t made = PTHREAD_COND_INITIALIZER;
static long n, taken;
static void *make(void *unused)
{
    for (int i = 0; i < 5000; i++) {
        pthread_mutex_lock(&held);
        n++;
        pthread_cond_signal(&made);
        pthread_mutex_unlock(&held);
    }
    return unused;
}
int main(void)
{
    pthread_t maker;
    pthread_create(&maker, NULL, make, NULL);
    for (; taken < 5000; taken++) {
        pthread_mutex_lock(&held);
        while (n == 0)
            pthread_cond_wait(&made, &held);
        n--;
        pthread_mutex_unlock(&held);
    }
    pthread_join(maker, NULL);
    printf("%ld\n", taken);
    return 0;
}
