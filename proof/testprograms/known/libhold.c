/* Sleeps with a lock of its own. */
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
void hold(void)
{
    pthread_mutex_lock(&held);
    usleep(2000);
    pthread_mutex_unlock(&held);
}
