// SPDX-License-Identifier: PostgreSQL
//
// Locks that the benchmarks compare with, and that nothing else uses. Both are called as `Lock` is (locks.h).
//   mutexes  a mutex for each page: it knows no other ranges, and no shared mode. What a lock of one page costs at least.
//   list     a list of ranges, ordered by their starts, that threads change by compare and swap, without any lock. A range that is
//            released is marked, and unlinked by who comes by. Not first come, first served.
//
// The list is written for this benchmark alone, from its description in Kogan, Dice and Issa, "Scalable Range Locks for
// Scalable Address Spaces and Beyond", EuroSys 2020. A patent covers it: do not take it into anything else. Differences: who
// waits gives up the CPU after a while, since here more threads run than there are CPUs, and memory is reclaimed by epochs of
// the usual kind.
#pragma once

#include "pgquern.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <utility>
#include <vector>
#include <x86intrin.h>

namespace rangelock
{
class PageMutexes
{
  public:
    using Hold = pthread_mutex_t *;

    PageMutexes() : mutexes(new pthread_mutex_t[COUNT])
    {
        for (size_t i = 0; i < COUNT; i++)
            pthread_mutex_init(&mutexes[i], nullptr);
    }

    void take(Hold &hold, uint64_t offset, uint64_t, pgq_rangelock_mode)
    {
        hold = &mutexes[offset / 8192 % COUNT];
        pthread_mutex_lock(hold);
    }
    static void release(Hold &hold)
    {
        pthread_mutex_unlock(hold);
    }

  private:
    // Each page of these benchmarks has its own. Otherwise who holds a page, and asks for another one, could wait for itself.
    static constexpr size_t COUNT = 32768;
    std::unique_ptr<pthread_mutex_t[]> mutexes;
};

// A range in the list. An odd `next` marks it as released.
struct Listed {
    std::atomic<uintptr_t> next;
    uint64_t lo, hi;
    bool shared;
};

struct alignas(64) Walker {
    std::atomic<uint64_t> since{0}; // the epoch in which it began to walk; 0: it does not walk
    std::atomic<bool> taken{false};
};

// Nodes, reused when no thread that could have seen them walks any more: a node that was unlinked in one epoch is free two
// epochs later, and an epoch ends when all that walk have begun in it.
class Nodes
{
  public:
    Listed *get()
    {
        if (spare.empty())
            return new Listed;
        Listed *node = spare.back();
        spare.pop_back();
        return node;
    }
    // One that nobody else has seen, or can see any more.
    void put_back(Listed *node)
    {
        spare.push_back(node);
    }
    // One that was unlinked: others may still look at it.
    void retire(Listed *node)
    {
        limbo.emplace_back(now.load(), node);
        if (limbo.size() >= 64)
            reclaim();
    }
    void begin_walk()
    {
        walking->store(now.load(std::memory_order_relaxed)); // and before all that is read from here on
    }
    void end_walk()
    {
        walking->store(0, std::memory_order_release);
    }

    static Nodes &of_this_thread()
    {
        static thread_local Nodes nodes;
        return nodes;
    }
    Nodes(const Nodes &) = delete;

  private:
    static constexpr size_t MOST = 64; // threads at one time
    static inline std::array<Walker, MOST> walkers;
    static inline std::atomic<uint64_t> now{1};

    Nodes() : walker(take_walker()), walking(&walker->since) {}
    // What others may still look at stays: a thread leaves 64 of them, now and then.
    ~Nodes()
    {
        for (Listed *node : spare)
            delete node;
        walker->taken = false;
    }
    static Walker *take_walker()
    {
        for (;; sched_yield())
            for (Walker &one : walkers)
                if (!one.taken.exchange(true))
                    return &one;
    }
    void reclaim()
    {
        uint64_t epoch = now;
        bool all = true;
        for (const Walker &one : walkers) {
            uint64_t since = one.since;
            all &= since == 0 || since == epoch;
        }
        if (all)
            now.compare_exchange_strong(epoch, epoch + 1);
        epoch = now;
        std::erase_if(limbo, [&](const std::pair<uint64_t, Listed *> &old) {
            if (old.first + 2 > epoch)
                return false;
            spare.push_back(old.second);
            return true;
        });
    }

    Walker *walker;
    std::atomic<uint64_t> *walking;
    std::vector<Listed *> spare;
    std::vector<std::pair<uint64_t, Listed *>> limbo;
};

class RangeList
{
  public:
    using Hold = Listed *;

    RangeList() = default;
    RangeList(const RangeList &) = delete;
    ~RangeList()
    {
        for (uintptr_t at = bare(head); at != 0;) {
            Listed *node = node_of(at);
            at = bare(node->next);
            delete node;
        }
    }

    void take(Hold &hold, uint64_t offset, uint64_t length, pgq_rangelock_mode mode)
    {
        Nodes &nodes = Nodes::of_this_thread();
        hold = nodes.get();
        set(hold, offset, offset + length, mode == PGQ_RANGELOCK_SHARED);
        // Alone: the head itself is marked, and to release is to empty the list.
        uintptr_t empty = 0;
        if (head.load(std::memory_order_relaxed) == 0 &&
            head.compare_exchange_strong(empty, marked(of(hold))))
            return;
        nodes.begin_walk();
        while (!insert(nodes, hold)) {
            Listed *again = nodes.get();
            set(again, hold->lo, hold->hi, hold->shared);
            hold = again; // the one before is marked, and unlinked by who comes by
        }
        nodes.end_walk();
    }
    void release(Hold &hold)
    {
        uintptr_t alone = marked(of(hold));
        if (head.load(std::memory_order_relaxed) == alone && head.compare_exchange_strong(alone, 0))
            Nodes::of_this_thread().put_back(hold); // who has seen the mark has not followed it
        else
            hold->next.fetch_or(1);
    }

  private:
    using Link = std::atomic<uintptr_t>;
    enum class Order { before, conflict, after };

    static uintptr_t of(const Listed *node)
    {
        return reinterpret_cast<uintptr_t>(node);
    }
    static Listed *node_of(uintptr_t link)
    {
        return reinterpret_cast<Listed *>(bare(link));
    }
    static uintptr_t marked(uintptr_t link)
    {
        return link | 1;
    }
    static uintptr_t bare(uintptr_t link)
    {
        return link & ~uintptr_t{1};
    }
    static bool is_marked(uintptr_t link)
    {
        return link & 1;
    }
    static void set(Listed *node, uint64_t lo, uint64_t hi, bool shared)
    {
        node->next.store(0, std::memory_order_relaxed);
        node->lo = lo;
        node->hi = hi;
        node->shared = shared;
    }

    static void wait_for(const Listed *node)
    {
        for (unsigned i = 0; !is_marked(node->next.load(std::memory_order_acquire)); i++)
            if (i < 64)
                _mm_pause();
            else
                sched_yield();
    }

    // Where one in the list stands to a new one. Readers that overlap stand in the order of their starts.
    static Order order(const Listed *one, const Listed *mine)
    {
        bool both_read = one->shared && mine->shared;
        if (one->hi <= mine->lo || (both_read && one->lo <= mine->lo))
            return Order::before;
        return one->lo >= mine->hi || both_read ? Order::after : Order::conflict;
    }

    // Past those after `link`, which are released: they are unlinked.
    Listed *next_of(Nodes &nodes, Link *link, bool &lost)
    {
        for (;;) {
            uintptr_t at = link->load(std::memory_order_acquire);
            if (is_marked(at) && link == &head) { // somebody was alone
                head.compare_exchange_strong(at, bare(at));
                continue;
            }
            lost = is_marked(at);
            if (lost || at == 0)
                return nullptr;
            uintptr_t beyond = node_of(at)->next.load(std::memory_order_acquire);
            if (!is_marked(beyond))
                return node_of(at);
            if (link->compare_exchange_strong(at, bare(beyond)))
                nodes.retire(node_of(at));
        }
    }

    // False if a conflict came first: then it is marked, and must be tried anew.
    bool insert(Nodes &nodes, Listed *mine)
    {
        for (Link *link = &head;;) {
            bool lost = false;
            Listed *one = next_of(nodes, link, lost);
            if (lost) {
                link = &head; // the node with this link was released
                continue;
            }
            Order where = one == nullptr ? Order::after : order(one, mine);
            if (where == Order::before) {
                link = &one->next;
            } else if (where == Order::conflict) {
                wait_for(one);
            } else {
                uintptr_t expected = of(one);
                mine->next.store(expected, std::memory_order_relaxed);
                if (link->compare_exchange_strong(expected, of(mine)))
                    return mine->shared ? await_writers_after(nodes, mine) : no_reader_before(nodes, mine);
            }
        }
    }

    // A reader is in the list: writers that came in behind it, within its range, came first.
    bool await_writers_after(Nodes &nodes, Listed *mine)
    {
        for (Link *link = &mine->next;;) {
            bool lost = false;
            Listed *one = next_of(nodes, link, lost);
            if (lost) {
                link = &mine->next;
                continue;
            }
            if (one == nullptr || one->lo >= mine->hi)
                return true;
            if (one->shared)
                link = &one->next;
            else
                wait_for(one);
        }
    }

    // A writer is in the list: a reader before it that reaches into its range came first.
    bool no_reader_before(Nodes &nodes, Listed *mine)
    {
        for (Link *link = &head;;) {
            bool lost = false;
            Listed *one = next_of(nodes, link, lost);
            if (lost) {
                link = &head;
                continue;
            }
            if (one == mine)
                return true;
            if (one->hi > mine->lo) {
                mine->next.fetch_or(1);
                return false;
            }
            link = &one->next;
        }
    }

    alignas(64) Link head{0};
};
} // namespace rangelock
