// The first use of everything while somebody else has the dynamic linker's lock: dlopen holds it while it runs constructors,
// and the one of `loader_lock_lib` waits for a thread. What looks up the C library's functions by dlsym at their first use
// waits for that lock there, for ever.
#include "check.h"
#include <dlfcn.h>

int main(void)
{
    watchdog();
    // Beside the program, wherever that is.
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 20);
    CHECK(length > 0);
    path[length] = 0;
    strcpy(strrchr(path, '/'), "/loader_lock_lib.so");
    doing = "a constructor that waits for a thread";
    void *library = dlopen(path, RTLD_NOW);
    if (!library)
        FAIL("%s", dlerror());
    int *n_done = dlsym(library, "n_done");
    CHECK(n_done && *n_done == 1);
    return 0;
}
