// What the wrong interposers share: a small right one to go wrong from.
//
// It keeps glibc's lock word (0 free, 1 held, 2 held and maybe sleepers) and its owner and user count, serves the four plain
// kinds itself and leaves everything else to glibc. A wrong interposer defines some of the functions in its own way.
#ifndef WRONG_H
#define WRONG_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

// glibc's function of the same name; each expansion looks it up once.
#define REAL(name)                                                                                                     \
    ({                                                                                                                 \
        static __typeof__(&name) real_found;                                                                           \
        if (!real_found)                                                                                               \
            real_found = (__typeof__(&name))find(#name);                                                               \
        real_found;                                                                                                    \
    })

UNUSED static void *find(const char *name)
{
    // Without a version, old ones of the condition variables could be found, with another format.
    void *found = name[8] == 'c' ? dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2") : NULL;
    return found ? found : dlsym(RTLD_NEXT, name);
}

enum { NORMAL, RECURSIVE, ERRORCHECK, ADAPTIVE };

UNUSED static int kind_of(pthread_mutex_t *mutex)
{
    return __atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED);
}

// Robust ones, and those with a protocol, are glibc's.
UNUSED static int is_plain(int kind)
{
    return (kind & 127) <= ADAPTIVE;
}

UNUSED static int has_owner_check(int kind)
{
    return (kind & 3) == RECURSIVE || (kind & 3) == ERRORCHECK;
}

UNUSED static int private_flag(int kind)
{
    return kind & 128 ? 0 : FUTEX_PRIVATE_FLAG;
}

UNUSED static int own_id(void)
{
    return (int)syscall(SYS_gettid);
}

UNUSED static int is_owner(pthread_mutex_t *mutex, int id)
{
    return __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED) == id;
}

// 0, or the error of the system call.
UNUSED static int futex(int *word, int operation, int value, const struct timespec *end)
{
    int saved = errno;
    int code = syscall(SYS_futex, word, operation, value, end, NULL, FUTEX_BITSET_MATCH_ANY) < 0 ? errno : 0;
    errno = saved;
    return code;
}

UNUSED static int wait_operation(int kind, clockid_t clock)
{
    return FUTEX_WAIT_BITSET | private_flag(kind) | (clock == CLOCK_REALTIME ? FUTEX_CLOCK_REALTIME : 0);
}

UNUSED static int try_word(pthread_mutex_t *mutex)
{
    int seen = 0;
    return __atomic_compare_exchange_n(&mutex->__data.__lock, &seen, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

UNUSED static void release_word(pthread_mutex_t *mutex, int kind)
{
    if (__atomic_exchange_n(&mutex->__data.__lock, 0, __ATOMIC_RELEASE) > 1)
        futex(&mutex->__data.__lock, FUTEX_WAKE | private_flag(kind), 1, NULL);
}

UNUSED static void now_owned(pthread_mutex_t *mutex, int id)
{
    mutex->__data.__owner = id;
    mutex->__data.__nusers++;
    mutex->__data.__count = 1;
}

// What the owner of a mutex with owner check gets: 0 if it is not the owner and has to go on.
UNUSED static int is_again(pthread_mutex_t *mutex, int kind, int id, int *code)
{
    if (!has_owner_check(kind) || !is_owner(mutex, id))
        return 0;
    *code = (kind & 3) == RECURSIVE ? 0 : EDEADLK;
    if (*code == 0)
        mutex->__data.__count++;
    return 1;
}

// Whether unlock is over already: refused, or one level left.
UNUSED static int is_kept(pthread_mutex_t *mutex, int kind, int id, int *code)
{
    *code = 0;
    if (has_owner_check(kind) && !is_owner(mutex, id))
        *code = EPERM;
    else if ((kind & 3) == RECURSIVE && mutex->__data.__count > 1)
        mutex->__data.__count--;
    else
        return 0;
    return 1;
}

UNUSED static void no_longer_owned(pthread_mutex_t *mutex)
{
    mutex->__data.__owner = 0;
    mutex->__data.__nusers--;
    mutex->__data.__count = 0;
}

#endif
