// A queue of a few places: who finds it full waits for room, who finds it empty waits for an item.
//
// Prints: 1000 items, sum 499500
#include <deque>
#include <iostream>
#include <mutex>
#include <ondeck.hpp>
#include <thread>

template <class Item>
class Queue {
public:
    explicit Queue(std::size_t places) : places_(places) {}

    void push(Item item) {
        std::unique_lock guard(lock_);
        has_room_.wait(guard, [this] { return items_.size() < places_; });
        items_.push_back(std::move(item));
        has_item_.notify_one();
    }

    Item pop() {
        std::unique_lock guard(lock_);
        has_item_.wait(guard, [this] { return !items_.empty(); });
        Item item = std::move(items_.front());
        items_.pop_front();
        has_room_.notify_one();
        return item;
    }

private:
    ondeck::mutex lock_;
    ondeck::condition_variable has_item_, has_room_;
    std::deque<Item> items_;
    const std::size_t places_;
};

int main() {
    Queue<int> queue(4);
    std::thread producer([&] {
        for (int item = 0; item < 1000; item++) {
            queue.push(item);
        }
    });
    int sum = 0;
    for (int i = 0; i < 1000; i++) {
        sum += queue.pop();
    }
    producer.join();
    std::cout << "1000 items, sum " << sum << '\n';
}
