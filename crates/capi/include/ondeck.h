/* ondeck.h: mutexes that stay fast when many threads want them, for C99 and C++11.
 *
 * Use ondeck_mutex_t, ondeck_cond_t and ondeck_rwlock_t like pthread_mutex_t, pthread_cond_t and pthread_rwlock_t.
 * ondeck_monitor_t is a lock that its holder may enter again, and in which threads wait for each other, as in Java and
 * .NET. For C++17 there is ondeck.hpp.
 *
 * Objects
 *   A mutex has 8 bytes, a condition variable 16, a reader-writer lock 16, and a monitor 32. Make one with its
 *   initializer, with its init function, or from zeros. An object stays where it is as long as it is used. It cannot be
 *   shared between processes. Mutexes and condition variables keep nothing elsewhere, so you may leave out their destroy
 *   functions. A reader-writer lock that is read often has memory on each core, until it is destroyed.
 *
 * Return values
 *   Functions return 0 or a number of <errno.h>, as pthread's do. Each function's comment lists all that it returns.
 *   errno itself does not change. A signal ends no wait.
 *
 * Time
 *   A number of nanoseconds counts from the call, on the monotonic clock. UINT64_MAX means for ever. A deadline is a
 *   time of CLOCK_MONOTONIC or CLOCK_REALTIME: the caller names the clock. ETIMEDOUT is never early. It may be late by
 *   the time that the system takes to give the thread a core. If CLOCK_REALTIME is set forward during the call, it may
 *   also be late by as much as the clock was set.
 *
 * Blocking
 *   A waiting thread spins for some microseconds, yields, and sleeps. At most one waiting thread of a mutex stays awake
 *   for longer. With ONDECK_SPIN=0 in the environment, waiting threads sleep at once. Functions with "try" in their
 *   names, functions that release, and functions that signal or pulse never wait for a holder. A waiting thread uses up
 *   to 2.5 KiB of its stack. On Linux, about once a second, one waiting thread asks the system which cores it may use.
 *   For that moment it needs about 12 KiB of stack. With ONDECK_SPIN=0 it does not ask.
 *
 * Fairness
 *   A thread may get a free lock although others wait. A lock that is used all the time stays with one thread for a
 *   while. The bound on a wait is one in time, not in turns. ondeck_mutex_unlock_fair gives the mutex to a waiting
 *   thread at once. Reader-writer locks have rules of their own: see there.
 *
 * Rules
 *   - Pointers point to initialized objects.
 *   - A thread must not lock a mutex that it holds. It would wait for ever, or until its timeout.
 *   - The thread that locked a mutex or a reader-writer lock unlocks it. To release another thread's lock is undefined.
 *   - To release a mutex that nobody holds, or to wait with one, ends the process with a message. So does releasing a
 *     reader-writer lock that nobody holds in that way, but not for reading where readers count by core: that is undefined.
 *   - A signal handler must not call any function here.
 *   - In the child of a fork, a lock that another thread held or waited for can only be initialized anew.
 *   - A program may contain the library twice, as a static and as a shared one. A monitor then belongs to one of the
 *     two.
 *
 * Freeing
 *   The thread that locks a mutex or a reader-writer lock last may free its memory right after its own release. Earlier
 *   releases do not touch the lock any more.
 *
 * Static linking: pkg-config --libs ondeck-static, or ondeck::static in CMake.
 */
#ifndef ONDECK_H
#define ONDECK_H

#include <stddef.h>
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

/* Declared in <time.h>. Include it if you use the functions with deadlines, or the names of the clocks. A 32-bit
 * program that is compiled with another time_t than the library must use the functions that take nanoseconds. */
struct timespec;

/* Returns the version of the library, such as "1.2.3". */
const char *ondeck_version(void);

/* ---- Mutex ---------------------------------------------------------------------------------------------------------- */

/* A lock that lets one thread in at a time. Its field is for the library only. */
typedef struct ondeck_mutex {
    ONDECK_ALIGNED(8) uint64_t ondeck_word;
} ondeck_mutex_t;

/* A mutex that nobody holds. */
#define ONDECK_MUTEX_INIT { 0 }

/* Initializes a mutex that nobody holds, in memory that is not in use. Returns 0. */
int ondeck_mutex_init(ondeck_mutex_t *mutex);

/* Checks that the mutex is not in use, and does nothing else. Returns 0, or EBUSY if a thread holds it or waits for
 * it. */
int ondeck_mutex_destroy(ondeck_mutex_t *mutex);

/* Locks the mutex. Waits while another thread holds it. Returns 0. */
int ondeck_mutex_lock(ondeck_mutex_t *mutex);

/* Locks the mutex if nobody holds it. Never waits. Returns 0, or EBUSY if a thread holds the mutex. */
int ondeck_mutex_trylock(ondeck_mutex_t *mutex);

/* Locks the mutex, and waits at most until the deadline. With a deadline in the past, it tries once.
 *
 * Returns 0, or ETIMEDOUT if the deadline came first. Returns EINVAL and does nothing if an argument is wrong: the
 * clock is neither CLOCK_MONOTONIC nor CLOCK_REALTIME, tv_nsec is not between 0 and 999999999, or the deadline is
 * NULL. */
int ondeck_mutex_timedlock(ondeck_mutex_t *mutex, int clock, const struct timespec *deadline);

/* Locks the mutex, and waits for at most so many nanoseconds. Returns 0, or ETIMEDOUT if the time is over first. */
int ondeck_mutex_lock_for(ondeck_mutex_t *mutex, uint64_t nanoseconds);

/* Unlocks the mutex, which the calling thread holds. Returns 0. */
int ondeck_mutex_unlock(ondeck_mutex_t *mutex);

/* Unlocks the mutex and gives it to a waiting thread at once, if there is one. Nobody is inside until that thread runs,
 * which costs throughput. Returns 0. */
int ondeck_mutex_unlock_fair(ondeck_mutex_t *mutex);

/* ---- Condition variable --------------------------------------------------------------------------------------------- */

/* A condition variable: threads that hold a mutex wait here for each other.
 *
 * A wait ends with a signal or its deadline, never for no reason. Check your condition in a loop all the same: another
 * thread may have had the mutex between the signal and the return. Threads may wait with different mutexes at the same
 * time. Each gets its own mutex again. The fields are for the library only. */
typedef struct ondeck_cond {
    ONDECK_ALIGNED(8) uint64_t ondeck_words[2];
} ondeck_cond_t;

/* A condition variable that nobody waits for. */
#define ONDECK_COND_INIT { { 0, 0 } }

/* Initializes a condition variable that nobody waits for, in memory that is not in use. Returns 0. */
int ondeck_cond_init(ondeck_cond_t *cond);

/* Does nothing, and exists for symmetry. Returns 0.
 *
 * You may free the memory as soon as each waiting thread has been signalled, or has returned because of its deadline.
 * So a thread that a signal has woken may free it. To free it earlier is undefined. */
int ondeck_cond_destroy(ondeck_cond_t *cond);

/* Unlocks the mutex, which the calling thread holds, waits for a signal, and locks the mutex again. Returns 0.
 *
 * A thread that locks the mutex meanwhile finds the caller waiting already, so its signal is not lost. */
int ondeck_cond_wait(ondeck_cond_t *cond, ondeck_mutex_t *mutex);

/* As ondeck_cond_wait, but waits for a signal at most until the deadline. To lock the mutex again may take longer.
 *
 * Returns 0 after a signal. Returns ETIMEDOUT if the deadline came first: then this thread has used up no signal.
 * Returns EINVAL and does nothing in the same cases as ondeck_mutex_timedlock. If CLOCK_REALTIME is set back during the
 * wait, the wait may return 0 without a signal, at the time when the deadline would have been. */
int ondeck_cond_timedwait(ondeck_cond_t *cond, ondeck_mutex_t *mutex, int clock, const struct timespec *deadline);

/* As ondeck_cond_wait, but waits for a signal for at most so many nanoseconds. Returns 0, or ETIMEDOUT as above. */
int ondeck_cond_wait_for(ondeck_cond_t *cond, ondeck_mutex_t *mutex, uint64_t nanoseconds);

/* Ends the wait of the thread that has waited longest, if any waits. Returns 0.
 *
 * If the mutex is held, this thread does not wake yet. It joins the threads that wait for its mutex. A deadline that
 * passes meanwhile has no effect. */
int ondeck_cond_signal(ondeck_cond_t *cond);

/* Ends the waits of all threads that wait now. They lock their mutexes one after the other. Returns 0. */
int ondeck_cond_broadcast(ondeck_cond_t *cond);

/* ---- Reader-writer lock --------------------------------------------------------------------------------------------- */

/* A lock for many readers or one writer, in 16 bytes. The fields are for the library only.
 *
 * Readers and writers take turns, so neither side starves the other. Readers that come while a writer waits for the
 * readers inside go after that writer. When a writer leaves, all readers that wait then go before the next writer. So a
 * reader waits for at most one writer, and before it for the readers inside. Writers that time out come on top: each
 * holds new readers up while it waits. Writers among themselves wait as for a mutex.
 *
 * A thread that reads must not read again: it waits for ever if a writer waits. A thread that reads cannot become a
 * writer: it would wait for itself.
 *
 * Up to 524,288 readers may be inside at once. The next one, or the next writer, ends the process with a message. A waiting reader stays
 * awake for about 2.5 microseconds before it sleeps. */
typedef struct ondeck_rwlock {
    ONDECK_ALIGNED(8) uint64_t ondeck_words[2];
} ondeck_rwlock_t;

/* A reader-writer lock that nobody holds. */
#define ONDECK_RWLOCK_INIT { { 0, 0 } }

/* Initializes a reader-writer lock that nobody holds, in memory that is not in use. Returns 0. */
int ondeck_rwlock_init(ondeck_rwlock_t *lock);

/* Checks that the lock is not in use, and gives back what it has on each core. Returns 0, or EBUSY if a thread holds it
 * or waits for it. */
int ondeck_rwlock_destroy(ondeck_rwlock_t *lock);

/* Locks for reading. Waits while a writer is inside, or waits for the readers inside. Returns 0. */
int ondeck_rwlock_rdlock(ondeck_rwlock_t *lock);

/* Locks for reading if no writer is inside or waits. Never waits. Returns 0, or EBUSY if there is such a writer. */
int ondeck_rwlock_tryrdlock(ondeck_rwlock_t *lock);

/* Locks for reading, and waits at most until the deadline. With a deadline in the past, it tries once. Returns 0,
 * ETIMEDOUT, or EINVAL, in the same cases as ondeck_mutex_timedlock. */
int ondeck_rwlock_timedrdlock(ondeck_rwlock_t *lock, int clock, const struct timespec *deadline);

/* Locks for reading, and waits for at most so many nanoseconds. Returns 0, or ETIMEDOUT if the time is over first. */
int ondeck_rwlock_rdlock_for(ondeck_rwlock_t *lock, uint64_t nanoseconds);

/* Locks for writing. Waits while anybody else is inside. Returns 0. */
int ondeck_rwlock_wrlock(ondeck_rwlock_t *lock);

/* Locks for writing if nobody is inside or waits. Waits for no thread. Returns 0, or EBUSY if there is somebody. If readers
 * count themselves by core, a system call has to tell, and the answer is EBUSY while another thread is at that. */
int ondeck_rwlock_trywrlock(ondeck_rwlock_t *lock);

/* As ondeck_rwlock_timedrdlock, but for writing. */
int ondeck_rwlock_timedwrlock(ondeck_rwlock_t *lock, int clock, const struct timespec *deadline);

/* As ondeck_rwlock_rdlock_for, but for writing. */
int ondeck_rwlock_wrlock_for(ondeck_rwlock_t *lock, uint64_t nanoseconds);

/* Unlock the lock, which the calling thread holds for reading, or for writing. Return 0. */
int ondeck_rwlock_rdunlock(ondeck_rwlock_t *lock);
int ondeck_rwlock_wrunlock(ondeck_rwlock_t *lock);

/* Makes the calling thread, which holds the lock for writing, a reader. Nobody writes in between. Readers that wait go
 * inside with it. Unlock with ondeck_rwlock_rdunlock. Returns 0. */
int ondeck_rwlock_downgrade(ondeck_rwlock_t *lock);

/* ---- Monitor -------------------------------------------------------------------------------------------------------- */

/* A lock that its holder may enter again, and leaves as often. Threads inside can wait for a pulse. The field is for
 * the library only.
 *
 * The process ends with a message if a thread is 2^32 levels deep, or if the process has started 2^32 threads. */
typedef struct ondeck_monitor {
    ONDECK_ALIGNED(8) uint64_t ondeck_words[4];
} ondeck_monitor_t;

/* A monitor with nobody inside. */
#define ONDECK_MONITOR_INIT { { 0, 0, 0, 0 } }

/* Initializes a monitor with nobody inside, in memory that is not in use. Returns 0. */
int ondeck_monitor_init(ondeck_monitor_t *monitor);

/* Checks that the monitor is not in use, and does nothing else. Returns 0, or EBUSY if a thread is inside. To destroy a monitor in which a thread waits for a
 * pulse is undefined. */
int ondeck_monitor_destroy(ondeck_monitor_t *monitor);

/* Enters the monitor. Waits while another thread is inside. A thread inside gets one level deeper. Returns 0. */
int ondeck_monitor_enter(ondeck_monitor_t *monitor);

/* Enters the monitor if no other thread is inside. Never waits. Returns 0, or EBUSY if another thread is inside. */
int ondeck_monitor_try_enter(ondeck_monitor_t *monitor);

/* Enters the monitor, and waits for at most so many nanoseconds. Returns 0, or ETIMEDOUT if the time is over first. */
int ondeck_monitor_enter_for(ondeck_monitor_t *monitor, uint64_t nanoseconds);

/* Leaves one level, and the monitor if this was the first. Returns 0. Returns EPERM and does nothing if the caller is
 * not inside. */
int ondeck_monitor_exit(ondeck_monitor_t *monitor);

/* Leaves the monitor on all levels, waits for a pulse, and enters again as deep as before. Check your condition in a
 * loop, as with ondeck_cond_wait. Returns 0. Returns EPERM and does nothing if the caller is not inside. */
int ondeck_monitor_wait(ondeck_monitor_t *monitor);

/* As ondeck_monitor_wait, but waits for a pulse for at most so many nanoseconds. To enter again may take longer.
 * Returns 0 after a pulse. Returns ETIMEDOUT if the time was over first: then this thread has used up no pulse. Returns
 * EPERM as above. */
int ondeck_monitor_wait_for(ondeck_monitor_t *monitor, uint64_t nanoseconds);

/* Ends the wait of the thread that has waited longest, if any waits. This thread enters when the monitor is free.
 * Returns 0. Returns EPERM and does nothing if the caller is not inside. */
int ondeck_monitor_pulse(ondeck_monitor_t *monitor);

/* Ends the waits of all threads that wait now. They enter one after the other. Returns 0, or EPERM as above. */
int ondeck_monitor_pulse_all(ondeck_monitor_t *monitor);

/* ---- Recording ------------------------------------------------------------------------------------------------------ */

/* `ondeck profile` records the mutexes, condition variables and reader-writer locks of this library, linked in either
 * way: who waits for which lock, where, and who holds it meanwhile. Monitors are not recorded. Without a recording an
 * operation reads one byte for it.
 *
 * Names for ondeck profile
 *
 * ondeck_name gives a lock the name by which `ondeck profile` shows it: an object of this header, or any mutex,
 * condition variable or lock for readers and writers of the C or C++ library. The header is enough for that, no library
 * is needed. The statistics below have the names of this library's locks. Without them, and without `ondeck profile`, the
 * call does nothing.
 *
 * Give all locks of one class the same name, as each shard of a map: they are one row in the profile, with their number.
 *
 * `name` is a string of up to 47 bytes, and is copied. A process has room for 1024 different names and for about 50,000 locks
 * that have one. What finds no room is left out, and the profile says so. A lock that is named again has the later name. A
 * lock that is destroyed by its function, as pthread_mutex_destroy, takes its name with it. If there is no such call, as
 * for std::mutex, what is made at the same address has the name too, until it is given its own. An empty name takes the
 * name away. Never waits. */
#if defined(__ELF__) && defined(__GNUC__)
/* Of the library that `ondeck profile` preloads, and of this one. Either may be missing. */
__attribute__((weak)) void ondeck_set_name(const void *lock, const char *name);
__attribute__((weak)) void ondeck_set_own_name(const void *lock, const char *name);
/* clang says of a header that is compiled by itself what nobody uses. */
__attribute__((unused)) static inline void ondeck_name(const void *lock, const char *name) {
    if (ondeck_set_name) {
        ondeck_set_name(lock, name);
    }
    if (ondeck_set_own_name) {
        ondeck_set_own_name(lock, name);
    }
}
#else
static inline void ondeck_name(const void *lock, const char *name) {
    (void)lock;
    (void)name;
}
#endif

/* ---- Statistics ----------------------------------------------------------------------------------------------------- */

/* Statistics of this library's mutexes and reader-writer locks, for the program's own metrics: how often and how long
 * threads wait, and how long locks are held. Each wait is counted. One acquisition in a thousand is timed, and stands for
 * a thousand. Locks are counted by the names that ondeck_name gives them, others by the place where they were first seen. */

/* Counts from here on. The child of a fork counts from zero. A second call changes nothing. Returns 0, or ENOTSUP if the
 * system cannot do it: it is not Linux with pointers of 64 bits, or has no memory. */
int ondeck_stats_start(void);

/* Writes what was counted until now, in the text format of Prometheus, as snprintf does: at most `length` bytes with the
 * zero at the end. Returns how many bytes the whole text has, without the zero; -1 if they are too many to tell. Make room for
 * more than that: the next text may be longer. Allocates memory: do not call it while you hold a mutex. */
int ondeck_stats_prometheus(char *buffer, size_t length);

#ifdef __cplusplus
}
#endif

#endif
