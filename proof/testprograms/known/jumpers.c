/* Functions whose last act is the unlock: optimised, it is a jump, and they are not on the stack any more. One is called by
   its name, one by another's last act, one through a pointer; and two through one pointer. */
#include <pthread.h>
#include <unistd.h>
#define APART __attribute__((noinline))
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
#define HOLDS(name, lock, ms) \
    APART static void name(void) { pthread_mutex_lock(&lock); usleep(1000 * ms); pthread_mutex_unlock(&lock); }
HOLDS(named, mutex, 2)
HOLDS(inner, mutex, 3)
HOLDS(pointed, mutex, 4)
HOLDS(first, other, 9)
HOLDS(second, other, 9)
static volatile int n;
APART static void outer(void) { n++; inner(); }
static void (*volatile pointer)(void) = pointed;
static void (*volatile both[2])(void) = { first, second };
APART static void *works(void *argument)
{
    for (int i = 0; i < 20; i++) {
        named();
        outer();
        pointer();
        both[i & 1]();
    }
    return argument;
}
int main(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, works, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
