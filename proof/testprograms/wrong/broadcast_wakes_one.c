// A broadcast is a signal.
// fails: cond exclusion_cpp
#include "wrong.h"

int pthread_cond_broadcast(pthread_cond_t *cond)
{
    return REAL(pthread_cond_signal)(cond);
}
