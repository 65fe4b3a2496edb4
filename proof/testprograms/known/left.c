/* The threads of this program wait for each other after its first one has ended: for 0.7 s, of which most is seen only if
   the process does not count as ended with that one. */
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static void *hold(void *unused) {
    pthread_barrier_wait(&both);
    for (int i = 0; i < 70; i++) { pthread_mutex_lock(&held); usleep(5000); pthread_mutex_unlock(&held); }
    return unused;
}
int main(void) {
    pthread_t one, other;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&one, NULL, hold, NULL);
    pthread_create(&other, NULL, hold, NULL);
    pthread_exit(NULL);
}
