// Writes each lock down in a file, however long that may be.
// fails: file_limit
#include "wrong.h"
#include <sys/mman.h>

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static const char record[64];
    static int file;
    int code = REAL(pthread_mutex_lock)(mutex);
    if (!file)
        file = memfd_create("locks", MFD_CLOEXEC);
    return write(file, record, sizeof record) < 0 ? errno : code;
}
