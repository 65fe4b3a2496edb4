/* Two threads sleep in turn in the library. */
#include <pthread.h>
void hold(void);
static void *work(void *unused)
{
    for (int i = 0; i < 1000000; i++)
        hold();
    return unused;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    work(NULL);
    return 0;
}
