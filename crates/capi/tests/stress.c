/* Eight threads use everything at once; what they have counted has to be there.
 *
 * Prints: nothing lost
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <errno.h>
#include <pthread.h>

enum { THREADS = 8, TURNS = 20000, PLACES = 3 };

static struct {
    ondeck_mutex_t lock;
    long plain, tried, timed;
} counts = { ONDECK_MUTEX_INIT, 0, 0, 0 };

static struct {
    ondeck_mutex_t lock;
    ondeck_cond_t has_item, has_room;
    long n, taken;
} queue = { ONDECK_MUTEX_INIT, ONDECK_COND_INIT, ONDECK_COND_INIT, 0, 0 };

static struct {
    ondeck_monitor_t monitor;
    long entered, turn;
} room = { ONDECK_MONITOR_INIT, 0, 0 };

static struct {
    ondeck_rwlock_t lock;
    long written, again;
} table = { ONDECK_RWLOCK_INIT, 0, 0 };

struct worker {
    long id, tried, timed, written;
};

static void count(struct worker *me, int i) {
    ondeck_mutex_lock(&counts.lock);
    counts.plain++;
    EXPECT(i % 64 ? ondeck_mutex_unlock(&counts.lock) : ondeck_mutex_unlock_fair(&counts.lock), 0);
    if (ondeck_mutex_trylock(&counts.lock) == 0) {
        counts.tried++;
        me->tried++;
        ondeck_mutex_unlock(&counts.lock);
    }
    struct timespec deadline = in_ns(i % 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC, 2000);
    int answer = i % 4 ? ondeck_mutex_lock_for(&counts.lock, (uint64_t)(i % 16) * 500)
                       : ondeck_mutex_timedlock(&counts.lock, i % 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC, &deadline);
    if (answer == 0) {
        counts.timed++;
        me->timed++;
        ondeck_mutex_unlock(&counts.lock);
    } else {
        EXPECT(answer, ETIMEDOUT);
    }
}

/* Half of the threads put as often as the other half takes. */
static void put(int i) {
    ondeck_mutex_lock(&queue.lock);
    while (queue.n == PLACES)
        if (i % 3)
            ondeck_cond_wait(&queue.has_room, &queue.lock);
        else
            ondeck_cond_wait_for(&queue.has_room, &queue.lock, 20000);
    queue.n++;
    i % 7 ? ondeck_cond_signal(&queue.has_item) : ondeck_cond_broadcast(&queue.has_item);
    ondeck_mutex_unlock(&queue.lock);
}

static void take(int i) {
    ondeck_mutex_lock(&queue.lock);
    while (queue.n == 0) {
        struct timespec deadline = in_ns(CLOCK_REALTIME, 20000);
        if (i % 3)
            ondeck_cond_wait(&queue.has_item, &queue.lock);
        else
            ondeck_cond_timedwait(&queue.has_item, &queue.lock, CLOCK_REALTIME, &deadline);
    }
    queue.n--;
    queue.taken++;
    ondeck_cond_signal(&queue.has_room);
    ondeck_mutex_unlock(&queue.lock);
}

static int enter(int writes, int i) {
    struct timespec deadline = in_ns(CLOCK_REALTIME, 2000);
    ondeck_rwlock_t *lock = &table.lock;
    switch (i / 4 % 4) {
    case 0: return writes ? ondeck_rwlock_trywrlock(lock) : ondeck_rwlock_tryrdlock(lock);
    case 1: return writes ? ondeck_rwlock_wrlock_for(lock, 1000) : ondeck_rwlock_rdlock_for(lock, 1000);
    case 2: return (writes ? ondeck_rwlock_timedwrlock : ondeck_rwlock_timedrdlock)(lock, CLOCK_REALTIME, &deadline);
    default: return writes ? ondeck_rwlock_wrlock(lock) : ondeck_rwlock_rdlock(lock);
    }
}

/* Every fourth turn writes. Both numbers change together, so that a reader beside a writer would see them differ. */
static void read_or_write(struct worker *me, int i) {
    int writes = i % 4 == 0, answer = enter(writes, i);
    EXPECT(answer == 0 || answer == EBUSY || answer == ETIMEDOUT, 1);
    if (answer != 0)
        return;
    if (writes) {
        me->written++, table.written++, table.again++;
        EXPECT(i % 5 ? ondeck_rwlock_wrunlock(&table.lock) : ondeck_rwlock_downgrade(&table.lock), 0);
    }
    if (!writes || i % 5 == 0) {
        EXPECT(table.written, table.again);
        EXPECT(ondeck_rwlock_rdunlock(&table.lock), 0);
    }
}

static void nest(int i) {
    int levels = 1 + i % 11;
    for (int level = 0; level < levels; level++)
        EXPECT(ondeck_monitor_enter(&room.monitor), 0);
    room.entered++;
    if (i % 5 == 0)
        ondeck_monitor_wait_for(&room.monitor, 1000);
    if (i % 3 == 0)
        EXPECT(ondeck_monitor_pulse(&room.monitor), 0);
    for (int level = 0; level < levels; level++)
        EXPECT(ondeck_monitor_exit(&room.monitor), 0);
}

/* The threads go round, one after the other. */
static void go_round(long id, int rounds) {
    EXPECT(ondeck_monitor_enter(&room.monitor), 0);
    for (int i = 0; i < rounds; i++) {
        while (room.turn % THREADS != id)
            EXPECT(ondeck_monitor_wait(&room.monitor), 0);
        room.turn++;
        EXPECT(ondeck_monitor_pulse_all(&room.monitor), 0);
    }
    EXPECT(ondeck_monitor_exit(&room.monitor), 0);
}

static void *work(void *argument) {
    struct worker *me = argument;
    for (int i = 0; i < TURNS; i++)
        count(me, i);
    for (int i = 0; i < TURNS; i++)
        me->id % 2 ? put(i) : take(i);
    for (int i = 0; i < TURNS; i++)
        read_or_write(me, i);
    for (int i = 0; i < TURNS / 4; i++)
        nest(i);
    go_round(me->id, 200);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    long tried = 0, timed = 0, written = 0;
    for (long id = 0; id < THREADS; id++) {
        workers[id] = (struct worker){ id, 0, 0, 0 };
        EXPECT(pthread_create(&threads[id], NULL, work, &workers[id]), 0);
    }
    for (int id = 0; id < THREADS; id++) {
        EXPECT(pthread_join(threads[id], NULL), 0);
        tried += workers[id].tried;
        timed += workers[id].timed;
        written += workers[id].written;
    }
    EXPECT(counts.plain, (long)THREADS * TURNS);
    EXPECT(counts.tried, tried);
    EXPECT(counts.timed, timed);
    EXPECT(queue.n, 0);
    EXPECT(queue.taken, (long)THREADS / 2 * TURNS);
    EXPECT(table.written, written);
    EXPECT(table.again, written);
    EXPECT(room.entered, (long)THREADS * (TURNS / 4));
    EXPECT(room.turn, (long)THREADS * 200);
    EXPECT(ondeck_mutex_destroy(&counts.lock), 0);
    EXPECT(ondeck_mutex_destroy(&queue.lock), 0);
    EXPECT(ondeck_cond_destroy(&queue.has_item), 0);
    EXPECT(ondeck_rwlock_destroy(&table.lock), 0);
    EXPECT(ondeck_monitor_destroy(&room.monitor), 0);
    puts("nothing lost");
    return 0;
}
