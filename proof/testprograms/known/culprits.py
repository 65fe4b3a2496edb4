"""Threads that compute in Python: each needs the interpreter's lock."""
import threading
import time

end = time.monotonic() + 1.2


def compute():
    n = 0
    while time.monotonic() < end:
        n += 1


threads = [threading.Thread(target=compute) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
