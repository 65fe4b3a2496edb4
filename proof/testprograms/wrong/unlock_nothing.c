// unlock says 0 and does nothing, unless glibc has to do it: as if a path had been left as a stub.
// fails: kinds exclusion cond
#include "wrong.h"

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    return is_plain(kind_of(mutex)) ? 0 : REAL(pthread_mutex_unlock)(mutex);
}
