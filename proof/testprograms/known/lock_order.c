// Locks that are taken in some order, by threads that run one after the other: nothing ever waits. The argument is a case, or
// `all` of those that end soon; each case has its own locks.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct locks {
  // What comes first has the name of the whole.
  int before;
  pthread_mutex_t a, b, c, outer;
  // `turns` lets no reader in while a writer waits.
  pthread_rwlock_t table, turns;
};

// Those of the case that runs.
static struct locks *its;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;

typedef pthread_mutex_t Lock;

__attribute__((noinline)) static void both(Lock *first, Lock *second) {
  pthread_mutex_lock(first);
  pthread_mutex_lock(second);
  // In another order than they are released mostly.
  pthread_mutex_unlock(first);
  pthread_mutex_unlock(second);
}

__attribute__((noinline)) static void a_then_b(void) { both(&its->a, &its->b); }
__attribute__((noinline)) static void b_then_a(void) { both(&its->b, &its->a); }
__attribute__((noinline)) static void b_then_c(void) { both(&its->b, &its->c); }
__attribute__((noinline)) static void c_then_a(void) { both(&its->c, &its->a); }

static void *run(void *act) {
  ((void (*)(void))act)();
  return NULL;
}

static void in_thread(void (*act)(void)) {
  pthread_t thread;
  pthread_create(&thread, NULL, run, act);
  pthread_join(thread, NULL);
}

static void outer_a_then_b(void) {
  pthread_mutex_lock(&its->outer);
  a_then_b();
  pthread_mutex_unlock(&its->outer);
}

static void outer_b_then_a(void) {
  pthread_mutex_lock(&its->outer);
  b_then_a();
  pthread_mutex_unlock(&its->outer);
}

static void b_tries_a(void) {
  pthread_mutex_lock(&its->b);
  if (pthread_mutex_trylock(&its->a) == 0) pthread_mutex_unlock(&its->a);
  struct timespec at = {.tv_sec = time(NULL) + 100};
  if (pthread_mutex_timedlock(&its->a, &at) == 0) pthread_mutex_unlock(&its->a);
  pthread_mutex_unlock(&its->b);
}

// What was taken by a try is held.
static void tried_b_then_a(void) {
  if (pthread_mutex_trylock(&its->b) == 0) {
    pthread_mutex_lock(&its->a);
    pthread_mutex_unlock(&its->a);
    pthread_mutex_unlock(&its->b);
  }
}

static void philosophers(void) {
  enum { N = 5 };
  Lock *forks = malloc(N * sizeof(Lock));
  for (int at = 0; at < N; at++) pthread_mutex_init(&forks[at], NULL);
  for (int at = 0; at < N; at++) both(&forks[at], &forks[(at + 1) % N]);
}

static void recursive(void) {
  static Lock both_times;
  pthread_mutexattr_t type;
  pthread_mutexattr_init(&type);
  pthread_mutexattr_settype(&type, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&both_times, &type);
  for (int at = 0; at < 2; at++) {
    pthread_mutex_lock(&both_times);
    pthread_mutex_lock(&its->a);
    pthread_mutex_lock(&both_times);
    pthread_mutex_unlock(&both_times);
    pthread_mutex_unlock(&its->a);
    pthread_mutex_unlock(&both_times);
  }
}

static void wait_a_moment(Lock *mutex) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_nsec = (at.tv_nsec + 2000000) % 1000000000;
  pthread_cond_timedwait(&ready, mutex, &at);
}

// While it waits with b it has a only; then it takes b again.
static void waits_with_b_having_a(void) {
  pthread_mutex_lock(&its->a);
  pthread_mutex_lock(&its->b);
  wait_a_moment(&its->b);
  pthread_mutex_unlock(&its->b);
  pthread_mutex_unlock(&its->a);
}

// It takes a again while it has b.
static void waits_with_a_having_b(void) {
  pthread_mutex_lock(&its->a);
  pthread_mutex_lock(&its->b);
  wait_a_moment(&its->a);
  pthread_mutex_unlock(&its->a);
  pthread_mutex_unlock(&its->b);
}

static void read_then_a(void) {
  pthread_rwlock_rdlock(&its->table);
  pthread_rwlock_rdlock(&its->table);
  pthread_rwlock_unlock(&its->table);
  pthread_mutex_lock(&its->a);
  pthread_mutex_unlock(&its->a);
  pthread_rwlock_unlock(&its->table);
}

static void read_after_all(void) {
  read_then_a();
  pthread_mutex_lock(&its->a);
  pthread_mutex_unlock(&its->a);
}

static void a_then_write(void) {
  pthread_mutex_lock(&its->a);
  pthread_rwlock_wrlock(&its->table);
  pthread_rwlock_unlock(&its->table);
  pthread_mutex_unlock(&its->a);
}

static void reads_again(pthread_rwlock_t *lock) {
  pthread_rwlock_rdlock(lock);
  pthread_rwlock_rdlock(lock);
  pthread_rwlock_unlock(lock);
  pthread_rwlock_unlock(lock);
}

static void read_again(void) { reads_again(&its->table); }
static void read_turns_again(void) { reads_again(&its->turns); }

// As no writer comes in between, nobody waits for ever.
static void read_turns_again_below_a(void) {
  pthread_mutex_lock(&its->a);
  reads_again(&its->turns);
  pthread_mutex_unlock(&its->a);
}

static void read_turns_then_a(void) {
  pthread_rwlock_rdlock(&its->turns);
  pthread_mutex_lock(&its->a);
  pthread_mutex_unlock(&its->a);
  pthread_rwlock_unlock(&its->turns);
}

static void a_then_read_turns(void) {
  pthread_mutex_lock(&its->a);
  pthread_rwlock_rdlock(&its->turns);
  pthread_rwlock_unlock(&its->turns);
  pthread_mutex_unlock(&its->a);
}

__attribute__((noinline)) static Lock *new_file(void) {
  Lock *lock = malloc(sizeof(Lock));
  pthread_mutex_init(lock, NULL);
  return lock;
}

__attribute__((noinline)) static Lock *new_user(void) {
  Lock *lock = malloc(sizeof(Lock));
  pthread_mutex_init(lock, NULL);
  return lock;
}

static void kinds(void) {
  both(new_file(), new_user());
  both(new_user(), new_file());
}

static const char *snapshots;

// Has the observer, our parent, look at what is recorded, and waits for the snapshot of that number.
static void be_looked_at(int number) {
  char path[4096];
  snprintf(path, sizeof path, "%s.%04d.json", snapshots, number);
  kill(getppid(), SIGUSR2);
  for (int ms = 0; ms < 60000 && access(path, F_OK) != 0; ms++) usleep(1000);
}

// As requests of a server have: 1800 locks in groups of 3, some of which are made between two looks of the observer.
static void short_lived(void) {
  enum { N = 3 };
  for (int at = 1; at <= 600; at++) {
    Lock *group = malloc(N * sizeof(Lock));
    for (int one = 0; one < N; one++) pthread_mutex_init(&group[one], NULL);
    for (int one = 0; one < N; one++) pthread_mutex_lock(&group[one]);
    for (int one = 0; one < N; one++) pthread_mutex_unlock(&group[one]);
    free(group);
    if (at % 25 == 0) be_looked_at(at / 25);
  }
}

#define CASES(DO)                                                                      \
  DO(one_order, a_then_b, b_then_c, a_then_b)                                          \
  DO(pair, a_then_b, b_then_a)                                                         \
  DO(circle, a_then_b, b_then_c, c_then_a)                                             \
  DO(outer, outer_a_then_b, outer_b_then_a)                                            \
  DO(half_outer, outer_a_then_b, outer_b_then_a, b_then_a)                             \
  DO(try, a_then_b, b_tries_a)                                                         \
  DO(tried, a_then_b, tried_b_then_a)                                                  \
  DO(recursive, recursive)                                                             \
  DO(condition, waits_with_b_having_a)                                                 \
  DO(condition_inverted, waits_with_a_having_b)                                        \
  DO(readers, read_after_all, read_then_a)                                             \
  DO(readers_inverted, read_then_a, a_then_write)                                      \
  DO(read_again, read_again)                                                           \
  DO(read_turns_again, read_turns_again)                                               \
  DO(read_turns_again_below, read_turns_again_below_a)                                 \
  DO(readers_after_writers, read_turns_then_a, a_then_read_turns)
#define ALONE(DO)              \
  DO(kinds, kinds)             \
  DO(philosophers, philosophers) \
  DO(short_lived, a_then_b, short_lived, b_then_a)

#define LOCKS(name, ...) static struct locks of_##name = {.turns = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP};
CASES(LOCKS) ALONE(LOCKS)

int main(int n, char **words) {
  const char *what = n > 1 ? words[1] : "pair";
  int is_first = 1;
  // For an observer who comes later.
  double until = n > 2 ? atof(words[2]) : 0;
  snapshots = n > 2 ? words[2] : "";
  for (double ms = 0; is_first || ms < until; ms += 1, is_first = 0) {
    if (!is_first) usleep(1000);
#define RUN(is_it, name, ...) \
  if (is_it || strcmp(what, #name) == 0) { \
    void (*acts[])(void) = {__VA_ARGS__}; \
    its = &of_##name; \
    for (unsigned at = 0; at < sizeof acts / sizeof acts[0]; at++) in_thread(acts[at]); \
  }
#define RUN_OF_ALL(...) RUN(strcmp(what, "all") == 0, __VA_ARGS__)
#define RUN_ALONE(...) RUN(0, __VA_ARGS__)
    CASES(RUN_OF_ALL)
    ALONE(RUN_ALONE)
  }
  return 0;
}
