"""Four producers and four consumers at a queue.Queue of four places: bounded_queue.py ITEMS_PER_PRODUCER

Every wait is one at a pthread condition variable, most with the interpreter's lock beside it. Each item must arrive once.
"""
import queue
import sys
import threading
import time

THREADS = 4
PLACES = 4
ITEMS = int(sys.argv[1])
places = queue.Queue(PLACES)
sums = [0] * THREADS
counts = [0] * THREADS


def produce(number):
    for item in range(ITEMS):
        places.put(number * ITEMS + item)


def consume(number):
    while (item := places.get()) is not None:
        sums[number] += item
        counts[number] += 1


start = time.monotonic()
producers = [threading.Thread(target=produce, args=(number,)) for number in range(THREADS)]
consumers = [threading.Thread(target=consume, args=(number,)) for number in range(THREADS)]
for thread in producers + consumers:
    thread.start()
for thread in producers:
    thread.join()
for _ in consumers:
    places.put(None)
for thread in consumers:
    thread.join()
taken = time.monotonic() - start
n_items = THREADS * ITEMS
wrong = int(sum(counts) != n_items or sum(sums) != n_items * (n_items - 1) // 2)
print(f"ops {n_items}\nseconds {taken}\nwrong {wrong}")
sys.exit(wrong)
