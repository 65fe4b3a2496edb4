// Threads wait for an atomic, and for a semaphore of the language.
#include <atomic>
#include <semaphore>
#include <thread>
#include "sleepers.h"
std::atomic<int> changed{0};
std::counting_semaphore<4> permits{0};
void change() { changed.wait(0); }
void take() { permits.acquire(); }
int main()
{
    std::thread one(change), other(take);
    until_in_futex(2);
    usleep(20000);
    changed = 1;
    changed.notify_all();
    permits.release();
    one.join();
    other.join();
}
