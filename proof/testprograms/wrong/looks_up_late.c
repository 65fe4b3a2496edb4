// Looks up the C library's function when it is first called, for which dlsym takes the dynamic linker's lock.
// fails: loader_lock
#include "wrong.h"

int pthread_mutexattr_settype(pthread_mutexattr_t *attr, int type)
{
    return REAL(pthread_mutexattr_settype)(attr, type);
}
