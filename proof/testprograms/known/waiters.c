/* Three threads that wait for each other for as many ms as the argument says. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static int ms;
static void *hold(void *unused)
{
    for (int i = 0; i < ms / 6; i++) {
        pthread_mutex_lock(&held);
        usleep(2000);
        pthread_mutex_unlock(&held);
    }
    return unused;
}
int main(int argc, char **argv)
{
    pthread_t threads[3];
    ms = argc > 1 ? atoi(argv[1]) : 60;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, hold, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 7;
}
