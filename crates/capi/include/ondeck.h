/* ondeck.h: mutexes that do not collapse under contention, for C99 and C++11.
 *
 * ondeck_mutex_t and ondeck_cond_t are used as pthread_mutex_t and pthread_cond_t are; ondeck_monitor_t is a lock that its
 * holder may enter again, in which threads wait for each other, as in Java and .NET. For C++17 there is ondeck.hpp.
 *
 * Objects
 *   A mutex is 8 bytes, a condition variable 16, a monitor 4. Each begins as its initializer says, or by its init function,
 *   or as zeros; it stays where it is as long as it is used, and is not shared between processes. Mutexes and condition
 *   variables keep nothing elsewhere, so their destroy functions may be left out; a monitor's gives memory back.
 *
 * Answers
 *   0, or one of the numbers of <errno.h>, as pthread's; errno itself is not changed. What is not listed at a function does
 *   not happen. A signal ends no wait.
 *
 * Time
 *   A number of nanoseconds is counted from the call, on the monotonic clock; UINT64_MAX is for ever. A deadline is a time
 *   of CLOCK_MONOTONIC or CLOCK_REALTIME, whichever is named. ETIMEDOUT is never early. It is late by what the system takes
 *   to give the thread a core; and if CLOCK_REALTIME is set forward during the call, by as much as it was set.
 *
 * Blocking
 *   Whoever waits spins for some microseconds, yields, and sleeps. With ONDECK_SPIN=0 in the environment it sleeps at once.
 *   The functions with "try" in their names, those that release, and those that signal or pulse never wait for a holder. A
 *   waiting thread uses up to 2.5 KiB of its stack.
 *
 * Fairness
 *   A thread may get a free lock although others wait, and a lock that is used all the time stays with one thread for a
 *   while. Waits are bounded in time, not in turns: see ondeck_mutex_unlock_fair.
 *
 * Rules
 *   Pointers are to objects that have been initialized. A thread does not lock a mutex that it holds: it would wait for ever,
 *   or until its timeout. The thread that locked unlocks. To release a mutex that nobody holds, or to wait with one, ends the
 *   process with a message; to release a mutex that another thread holds is undefined. No function here may be called in a
 *   signal handler. In the child of a fork, a lock that another thread held or waited for can only be initialized anew.
 *   If a program contains the library twice, as a static and as a shared one, a monitor belongs to one of the two.
 *
 * Freeing
 *   Whoever locks a mutex last may free its memory right after its own release: releases before do not touch it any more.
 *
 * Static linking: pkg-config --libs ondeck-static, or ondeck::static in CMake.
 */
#ifndef ONDECK_H
#define ONDECK_H

#include <stdint.h>

#if defined(__cplusplus)
#define ONDECK_ALIGNED(bytes) alignas(bytes)
#elif defined(__GNUC__)
#define ONDECK_ALIGNED(bytes) __attribute__((aligned(bytes)))
#else
#define ONDECK_ALIGNED(bytes) _Alignas(bytes)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Of <time.h>, which the caller includes for the functions with deadlines, and for the names of the clocks. A program of 32
 * bits that is compiled with another time_t than the library has to use the functions that take nanoseconds. */
struct timespec;

/* The version of the library, as "1.2.3". */
const char *ondeck_version(void);

/* ---- Mutex ---------------------------------------------------------------------------------------------------------- */

/* Lets one thread in at a time. Its field is for the library only. */
typedef struct ondeck_mutex {
    ONDECK_ALIGNED(8) uint64_t ondeck_word;
} ondeck_mutex_t;

/* A mutex that nobody holds. */
#define ONDECK_MUTEX_INIT { 0 }

/* Makes a mutex that nobody holds of memory that is not in use. 0. */
int ondeck_mutex_init(ondeck_mutex_t *mutex);

/* Asks whether the mutex is out of use, and does nothing else. 0, or EBUSY if a thread holds it or waits for it. */
int ondeck_mutex_destroy(ondeck_mutex_t *mutex);

/* Locks the mutex, and waits until it can. 0. */
int ondeck_mutex_lock(ondeck_mutex_t *mutex);

/* Locks the mutex if nobody holds it. 0, or EBUSY. */
int ondeck_mutex_trylock(ondeck_mutex_t *mutex);

/* Locks the mutex, and waits at most until the deadline. 0, or ETIMEDOUT; or EINVAL, and nothing is done, if the clock is
 * another than CLOCK_MONOTONIC and CLOCK_REALTIME, or tv_nsec is not within 0 and 999999999, or the deadline is NULL. A
 * deadline in the past asks once. */
int ondeck_mutex_timedlock(ondeck_mutex_t *mutex, int clock, const struct timespec *deadline);

/* Locks the mutex, and waits for at most so many nanoseconds. 0, or ETIMEDOUT. */
int ondeck_mutex_lock_for(ondeck_mutex_t *mutex, uint64_t nanoseconds);

/* Unlocks the mutex, which the calling thread holds. 0. */
int ondeck_mutex_unlock(ondeck_mutex_t *mutex);

/* As ondeck_mutex_unlock, but gives the mutex to a waiter at once, if there is one. It then stands still until that thread
 * runs, which costs throughput. 0. */
int ondeck_mutex_unlock_fair(ondeck_mutex_t *mutex);

/* ---- Condition variable --------------------------------------------------------------------------------------------- */

/* Where threads that hold a mutex wait for each other. Waits end with a signal or their deadline, never for no reason. The
 * condition is still to be looked at in a loop: another thread may have had the mutex between the signal and the return.
 * Threads may wait with different mutexes at one time; each gets its own again. Its fields are for the library only. */
typedef struct ondeck_cond {
    ONDECK_ALIGNED(8) uint64_t ondeck_words[2];
} ondeck_cond_t;

/* A condition variable in which nobody waits. */
#define ONDECK_COND_INIT { { 0, 0 } }

/* Makes a condition variable in which nobody waits of memory that is not in use. 0. */
int ondeck_cond_init(ondeck_cond_t *cond);

/* Does nothing, for symmetry. The memory may be freed as soon as each waiting thread has been signalled, or has returned by its
 * deadline; so also by a thread that a signal has woken. Before that it is undefined. 0. */
int ondeck_cond_destroy(ondeck_cond_t *cond);

/* Unlocks the mutex, which the calling thread holds, waits for a signal, and locks the mutex again. A thread that locks it
 * in between finds the caller waiting. 0. */
int ondeck_cond_wait(ondeck_cond_t *cond, ondeck_mutex_t *mutex);

/* As ondeck_cond_wait, but waits for a signal until the deadline only; to lock the mutex again may take longer. 0, or
 * ETIMEDOUT, in which case no signal was spent on this thread; or EINVAL, and nothing is done, as in
 * ondeck_mutex_timedlock. If CLOCK_REALTIME was set back during the wait, it may end with 0 and without a signal, at the time
 * when the deadline would have been. */
int ondeck_cond_timedwait(ondeck_cond_t *cond, ondeck_mutex_t *mutex, int clock, const struct timespec *deadline);

/* As ondeck_cond_wait, but waits for a signal for at most so many nanoseconds. 0, or ETIMEDOUT as above. */
int ondeck_cond_wait_for(ondeck_cond_t *cond, ondeck_mutex_t *mutex, uint64_t nanoseconds);

/* Ends the wait of the thread that has waited longest, if any waits. It is not woken into a mutex that is held: it becomes a
 * waiter of its mutex, and a deadline that passes meanwhile counts no more. 0. */
int ondeck_cond_signal(ondeck_cond_t *cond);

/* Ends the waits of all threads that wait now. They lock their mutexes one after the other. 0. */
int ondeck_cond_broadcast(ondeck_cond_t *cond);

/* ---- Monitor -------------------------------------------------------------------------------------------------------- */

/* A lock that its holder may enter again, and leaves as often; threads inside wait for a pulse. While it is contended or
 * waited in, it is lent 64 bytes of the heap, so it has no place in an allocator. The process ends with a message if there is
 * no memory then, if a thread is 2^32 levels deep, or the process has started 2^32 threads. Its field is for the library only. */
typedef struct ondeck_monitor {
    uint32_t ondeck_word;
} ondeck_monitor_t;

/* A monitor with nobody inside. */
#define ONDECK_MONITOR_INIT { 0 }

/* Makes a monitor with nobody inside of memory that is not in use. 0. */
int ondeck_monitor_init(ondeck_monitor_t *monitor);

/* Gives back what the monitor has been lent; it may be used again, as a new one. 0, or EBUSY, and nothing is done, if a thread
 * is inside. To destroy a monitor in which a thread waits for a pulse is undefined. */
int ondeck_monitor_destroy(ondeck_monitor_t *monitor);

/* Enters the monitor, and waits until it can; one level deeper if the calling thread is inside. 0. */
int ondeck_monitor_enter(ondeck_monitor_t *monitor);

/* Enters the monitor unless another thread is inside. 0, or EBUSY. */
int ondeck_monitor_try_enter(ondeck_monitor_t *monitor);

/* Enters the monitor, and waits for at most so many nanoseconds. 0, or ETIMEDOUT. */
int ondeck_monitor_enter_for(ondeck_monitor_t *monitor, uint64_t nanoseconds);

/* Leaves one level, and the monitor if it was the first. 0; or EPERM, and nothing is done, if the caller is not inside. */
int ondeck_monitor_exit(ondeck_monitor_t *monitor);

/* Leaves the monitor on all levels, waits for a pulse, and enters again as deep as before. The condition is to be looked at in
 * a loop, as with ondeck_cond_wait. 0; or EPERM, and nothing is done, if the caller is not inside. */
int ondeck_monitor_wait(ondeck_monitor_t *monitor);

/* As ondeck_monitor_wait, but waits for a pulse for at most so many nanoseconds; to enter again may take longer. 0, or
 * ETIMEDOUT, in which case no pulse was spent on this thread, or EPERM. */
int ondeck_monitor_wait_for(ondeck_monitor_t *monitor, uint64_t nanoseconds);

/* Ends the wait of the thread that has waited longest, if any waits. It enters when the monitor is free. 0; or EPERM, and
 * nothing is done, if the caller is not inside. */
int ondeck_monitor_pulse(ondeck_monitor_t *monitor);

/* Ends the waits of all threads that wait now. They enter one after the other. 0, or EPERM as above. */
int ondeck_monitor_pulse_all(ondeck_monitor_t *monitor);

#ifdef __cplusplus
}
#endif

#endif
