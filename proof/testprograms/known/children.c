// A process and its children, each with its own lock at the same address: a child that exits, one that ends by _exit, one that
// becomes another program (a flag names its file), and one of a daemon's kind, whose parent is gone. None changes the parent's figures.
#include "known.h"
#include <sys/prctl.h>

static pthread_mutex_t everywhere = PTHREAD_MUTEX_INITIALIZER;
static struct known *known_everywhere;
static const char *path;

APART static void *waits_in_parent(void *id)
{
    comes(id);
    LOCK(known_everywhere);
    UNLOCK(known_everywhere);
    return NULL;
}

APART static void *waits_in_child(void *id)
{
    comes(id);
    LOCK(known_everywhere);
    UNLOCK(known_everywhere);
    return NULL;
}

APART static void holds(void *(*waits)(void *), int64_t ns)
{
    pthread_t thread;
    int id;
    LOCK(known_everywhere);
    start_waiters(&thread, &id, 1, waits);
    sleep_ns(ns);
    UNLOCK(known_everywhere);
    join_all(&thread, 1);
}

static void be_child(int n_rounds, const char *ended)
{
    known_begin();
    known_forked();
    for (int round = 0; round < n_rounds; round++)
        holds(waits_in_child, 10 * MS);
    known_write(path, ended);
}

static void become_another(void)
{
    be_child(1, "abruptly");
    execl(RETURNED, RETURNED, path, (char *)NULL);
    FAIL("%s cannot be started", RETURNED);
}

static void leave_a_daemon(void)
{
    pid_t daemon = fork();
    CHECK(daemon >= 0);
    if (daemon == 0) {
        CHECK(setsid() > 0);
        be_child(5, "exit");
        exit(0);
    }
    _exit(0);
}

static pid_t start_child(int number)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child != 0)
        return child;
    if (number == 0) {
        be_child(2, "exit");
        exit(0);
    } else if (number == 1) {
        be_child(3, "abruptly");
        _exit(0);
    } else if (number == 2) {
        become_another();
    } else {
        leave_a_daemon();
    }
    _exit(1);
}

int main(int n, char **arguments)
{
    pid_t children[4];
    known_begin();
    CHECK(n == 2);
    path = arguments[1];
    known_everywhere = KNOWN_MUTEX("*everywhere*", &everywhere);
    // The daemon becomes our child when its parent is gone, so that we know when it is done.
    CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    for (int round = 0; round < 3; round++)
        holds(waits_in_parent, 10 * MS);
    for (int i = 0; i < 4; i++)
        children[i] = start_child(i);
    holds(waits_in_parent, 20 * MS);
    for (int i = 0; i < 4; i++)
        child_is_well(children[i], "a child");
    child_is_well(-1, "the daemon");
    known_write(path, "exit");
    return 0;
}
