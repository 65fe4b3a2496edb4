// The first use of a mutex, or of a condition variable, in the child of a fork, with a signal at each of its instructions
// whose handler uses others for the first time. Whatever has to be made anew in the child is half done then, and the handler
// must not wait for the rest.
//
// The parent traces the child, steps it to an instruction and sends the signal there: a child that steps itself could not
// be stepped where signals are blocked.
#include "check.h"
#include <sys/prctl.h>
#include <sys/ptrace.h>

// What takes so many instructions is not tested to its end.
#define MOST_STEPS 4000

enum { BEFORE, INSIDE, AFTER };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, of_handler = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER, cond_of_handler = PTHREAD_COND_INITIALIZER;

// What the child tells the parent; in memory of both.
struct told {
    int where, n_handled;
};

static volatile struct told *told;

static void handle(int signal_number)
{
    (void)signal_number;
    OK(pthread_mutex_lock(&of_handler));
    OK(pthread_cond_signal(&cond_of_handler));
    OK(pthread_mutex_unlock(&of_handler));
    told->n_handled++;
}

static void lock(void)
{
    OK(pthread_mutex_lock(&mutex));
}

static void try_lock(void)
{
    OK(pthread_mutex_trylock(&mutex));
}

static void notify(void)
{
    OK(pthread_cond_signal(&cond));
}

static void be_child(void (*act)(void))
{
    watchdog();
    // One that hangs is not left behind.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Refused in some sandboxes.
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(9);
    kill(getpid(), SIGSTOP);
    told->where = INSIDE;
    act();
    told->where = AFTER;
    _exit(0);
}

static int step(pid_t child, int *status)
{
    CHECK(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0);
    CHECK(waitpid(child, status, 0) == child);
    if (!WIFSTOPPED(*status) || WSTOPSIG(*status) != SIGTRAP)
        FAIL("a step of the child gave status %#x", (unsigned)*status);
    return told->where;
}

// One child, with the signal after `n_steps` instructions. 0 if there are not so many, -1 if nobody may trace.
static int child_with_signal(void (*act)(void), int n_steps)
{
    int status;
    told->where = BEFORE;
    told->n_handled = 0;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        be_child(act);
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 9)
        return -1;
    CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
    while (step(child, &status) == BEFORE) {
    }
    int where = INSIDE;
    for (int i = 0; i < n_steps && where == INSIDE; i++)
        where = step(child, &status);
    // Where it is blocked it comes later, as any other.
    CHECK(ptrace(PTRACE_DETACH, child, NULL, (void *)(long)(where == INSIDE ? SIGUSR1 : 0)) == 0);
    child_is_well(child, doing);
    CHECK(told->n_handled == (where == INSIDE));
    return where == INSIDE;
}

// At each of the first instructions, later at some of them, and at others than the calls before it.
static void at_each_instruction(const char *what, void (*act)(void))
{
    static int n_calls;
    doing = what;
    int result = 1;
    for (int n_steps = n_calls++ % 3; result == 1 && n_steps < MOST_STEPS; n_steps += 1 + n_steps / 50)
        result = child_with_signal(act, n_steps);
    if (result < 0)
        puts("first_touch_signals: skipped, nothing may be traced here");
}

int main(void)
{
    watchdog();
    // One CPU for both makes steps cheaper.
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof set, &set);
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(told != MAP_FAILED);
    // Used in the parent; and what the dynamic linker does at a first call is done, and not stepped.
    handle(0);
    OK(pthread_mutex_trylock(&mutex));
    OK(pthread_cond_signal(&cond));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    at_each_instruction("lock", lock);
    at_each_instruction("trylock", try_lock);
    at_each_instruction("signal", notify);
    return 0;
}
