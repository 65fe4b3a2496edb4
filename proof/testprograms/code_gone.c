// Code of no file where that of a library was, which has locked mutexes and is gone.
#include "check.h"
#include <dlfcn.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void work(void)
{
    for (int i = 0; i < 10000; i++) {
        OK(pthread_mutex_lock(&mutex));
        OK(pthread_mutex_unlock(&mutex));
    }
}

int main(void)
{
    watchdog();
#ifdef __x86_64__
    void *library = dlopen("./code_gone_lib.so", RTLD_NOW);
    if (!library)
        FAIL("%s", dlerror());
    void (*call)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(library, "call");
    CHECK(call);
    doing = "a library's code";
    call(work);
    uintptr_t at = (uintptr_t)call;
    void *page = (void *)(at & ~(uintptr_t)4095);
    CHECK(dlclose(library) == 0);
    int protection = PROT_READ | PROT_WRITE | PROT_EXEC, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    CHECK(mmap(page, 4096, protection, flags, -1, 0) == page);
    // nop, 7 times; sub $8, %rsp; call *%rdi; add $8, %rsp; ret: its return address is not the library's.
    static const unsigned char code[] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x48, 0x83,
                                         0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3};
    CHECK((at & 4095) + sizeof code <= 4096);
    memcpy((void *)at, code, sizeof code);
    doing = "code at its place";
    call(work);
#endif
    return 0;
}
