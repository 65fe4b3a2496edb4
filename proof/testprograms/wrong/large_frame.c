// Reads a file into a buffer on the stack before it waits for a mutex.
// fails: small_stacks
#include "wrong.h"
#include <fcntl.h>

__attribute__((noinline)) static void look_at_load(void)
{
    char text[12 * 1024];
    // Buffered readers clear their buffers.
    for (volatile char *at = text; at < text + sizeof text; at += 64)
        *at = 0;
    int file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    if (file >= 0 && read(file, text, sizeof text) >= 0)
        close(file);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (pthread_mutex_trylock(mutex) == 0)
        return 0;
    look_at_load();
    return REAL(pthread_mutex_lock)(mutex);
}
