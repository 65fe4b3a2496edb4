/* Threads that sleep for two locks some thousand times a second: the kernel's memory is full after a few tens of ms in which
   nobody takes what it tells. */
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t locks[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
void *work(void *none) {
    for (int i = 0;; i++) {
        pthread_mutex_lock(&locks[i % 2]);
        usleep(50);
        pthread_mutex_unlock(&locks[i % 2]);
    }
    return none;
}
int main(void) {
    pthread_t thread;
    for (int i = 0; i < 8; i++) pthread_create(&thread, 0, work, 0);
    sleep(20);
    _exit(0);
}
