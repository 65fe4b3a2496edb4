/* Has a name of tokio's runtime in it. */
#include <pthread.h>
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
void _ZN5tokio7runtime4park(void)
{
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
}
int main(void)
{
    _ZN5tokio7runtime4park();
    return 7;
}
