// From what was written down to what a profile has to say: the second half of known.h.
#ifndef TRUTH_H
#define TRUTH_H

#include <inttypes.h>

// What is known of one function at one lock, or of all of them.
struct truth {
    const char *function;
    int line;
    long long acquisitions, taken_back, waits, wait_ns, unsure, unsure_ns, hold_ns, charged_ns, holds_least, holds_most;
    // Some of its holds are not known.
    int is_counted;
};

static int truth_by_have(const void *left, const void *right)
{
    const struct known_record *a = *(struct known_record *const *)left, *b = *(struct known_record *const *)right;
    return (a->have > b->have) - (a->have < b->have);
}

static int truth_is_hold(const struct known_record *record)
{
    return record->kind == TOOK || record->kind == TOOK_BACK || record->kind == TOOK_FROM_OUTSIDE;
}

static long long truth_overlap(const struct known_record *wait, const struct known_record *hold)
{
    int64_t from = wait->want > hold->have ? wait->want : hold->have;
    int64_t to = wait->have < hold->until ? wait->have : hold->until;
    return to - from;
}

// The first hold that ends after this time; holds do not overlap and are in order.
static int truth_first_after(struct known_record **holds, int n, int64_t time)
{
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (holds[middle]->until > time)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static int truth_is_wait(struct known_record **holds, int n, const struct known_record *record)
{
    if (record->kind == TOOK_FROM_OUTSIDE || record->kind == GAVE_UP)
        return 1;
    if (record->kind == TOOK && record->have - record->want > KNOWN_LONGEST_NS)
        return 1;
    int first = truth_first_after(holds, n, record->want);
    return record->kind == TOOK && first < n && holds[first]->have <= record->want && holds[first] != record;
}

static struct truth *truth_of(struct truth *sites, int *n, const char *function, int line)
{
    for (int i = 0; i < *n; i++)
        if (strcmp(sites[i].function, function) == 0) {
            if (sites[i].line != line)
                sites[i].line = 0;
            return &sites[i];
        }
    CHECK(*n < KNOWN_SITES);
    struct truth *site = &sites[(*n)++];
    memset(site, 0, sizeof *site);
    site->function = function;
    site->line = line;
    return site;
}

// What all waits of a lock come to.
struct truth_waits {
    long long n, ns, charged_ns, longest_ns, n_threads, most_at_once;
    int64_t first, last;
    struct truth takers[KNOWN_SITES], holders[KNOWN_SITES];
    int n_takers, n_holders;
};

static void truth_charge(struct truth_waits *all, struct known_record **holds, int n, const struct known_record *wait)
{
    int first = truth_first_after(holds, n, wait->want);
    for (int i = first; i < n && holds[i]->have < wait->have; i++) {
        long long ns = truth_overlap(wait, holds[i]);
        if (holds[i] == wait || ns <= 0)
            continue;
        truth_of(all->holders, &all->n_holders, holds[i]->function, holds[i]->line)->charged_ns += ns;
        all->charged_ns += ns;
    }
}

static void truth_count_at_once(struct truth_waits *all, struct known_record **waits, int n)
{
    for (int i = 0; i < n; i++) {
        int at_once = 0;
        for (int j = 0; j < n; j++)
            at_once += waits[j]->want <= waits[i]->want && waits[i]->want < waits[j]->have;
        all->most_at_once = at_once > all->most_at_once ? at_once : all->most_at_once;
    }
}

// In how many holds somebody certainly waited, and in how many perhaps.
static void truth_count_holds(struct truth_waits *all, struct known_record **holds, int n, struct known_record **waits, int n_waits)
{
    for (int i = 0; i < n; i++) {
        long long most = -KNOWN_BLUR - 1;
        for (int j = 0; j < n_waits && n <= 4096; j++)
            if (waits[j] != holds[i] && truth_overlap(waits[j], holds[i]) > most)
                most = truth_overlap(waits[j], holds[i]);
        struct truth *holder = truth_of(all->holders, &all->n_holders, holds[i]->function, holds[i]->line);
        holder->holds_least += most > KNOWN_BLUR;
        holder->holds_most += most > -KNOWN_BLUR || n > 4096;
    }
}

static void truth_count_threads(struct truth_waits *all, struct known_record **records, int n)
{
    static int threads[KNOWN_RECORDS];
    for (int i = 0; i < n; i++) {
        int known = records[i]->kind == GAVE_UP;
        for (int j = 0; j < all->n_threads && !known; j++)
            known = threads[j] == records[i]->thread;
        if (!known)
            threads[all->n_threads++] = records[i]->thread;
    }
}

static void truth_add(struct truth_waits *all, const struct known_record *record, int is_wait)
{
    struct truth *taker = truth_of(all->takers, &all->n_takers, record->function, record->line);
    long long wait_ns = record->have - record->want;
    if (record->kind == COUNTED) {
        taker->acquisitions += record->have;
        taker->is_counted = 1;
        return;
    }
    taker->acquisitions += record->kind == TOOK || record->kind == TOOK_FROM_OUTSIDE;
    taker->taken_back += record->kind == TOOK_BACK;
    taker->hold_ns += truth_is_hold(record) ? record->until - record->have : 0;
    if (!is_wait) {
        // An arrival between two holds: it waited or it was slow.
        int is_unsure = record->kind == TOOK && wait_ns > KNOWN_BLUR;
        taker->unsure += is_unsure;
        taker->unsure_ns += is_unsure ? wait_ns : 0;
        return;
    }
    taker->waits++;
    taker->wait_ns += wait_ns;
    all->n++;
    all->ns += wait_ns;
    all->longest_ns = wait_ns > all->longest_ns ? wait_ns : all->longest_ns;
    all->first = record->want < all->first ? record->want : all->first;
    all->last = record->have > all->last ? record->have : all->last;
}

static void truth_print(FILE *file, const struct known *what, const struct truth_waits *all, double second)
{
    fprintf(file, "{\"name\":\"%s\",\"address\":\"%#" PRIxPTR "\",", what->name, (uintptr_t)what->address);
    fprintf(file, "\"waits\":%lld,\"wait_ns\":%lld,\"longest_ns\":%lld,", all->n, all->ns, all->longest_ns);
    fprintf(file, "\"handing_on_ns\":%lld,\"threads\":%lld,", all->ns - all->charged_ns, all->n_threads);
    fprintf(file, "\"most_waiting\":%lld,", all->most_at_once);
    double first = all->n ? all->first / 1e9 + second : 0, last = all->n ? all->last / 1e9 + second : 0;
    fprintf(file, "\"waits_from\":%.6f,\"waits_to\":%.6f,\"sites\":[", first, last);
    for (int i = 0; i < all->n_takers; i++) {
        const struct truth *site = &all->takers[i];
        fprintf(file, "%s{\"function\":\"%s\",\"line\":%d,", i ? "," : "", site->function, site->line);
        fprintf(file, "\"acquisitions\":%lld,\"taken_back\":%lld,", site->acquisitions, site->taken_back);
        fprintf(file, "\"waits\":%lld,\"wait_ns\":%lld,", site->waits, site->wait_ns);
        fprintf(file, "\"unsure\":%lld,\"unsure_ns\":%lld,", site->unsure, site->unsure_ns);
        fprintf(file, "\"hold_ns\":%lld}", site->is_counted ? -1 : site->hold_ns);
    }
    fprintf(file, "],\"holders\":[");
    for (int i = 0; i < all->n_holders; i++) {
        const struct truth *site = &all->holders[i];
        fprintf(file, "%s{\"function\":\"%s\",\"line\":%d,", i ? "," : "", site->function, site->line);
        fprintf(file, "\"charged_ns\":%lld,", site->charged_ns);
        fprintf(file, "\"holds_least\":%lld,\"holds_most\":%lld}", site->holds_least, site->holds_most);
    }
    fprintf(file, "]}");
}

// One lock or condition variable: its records, in the order in which they were had.
static void truth_write_one(FILE *file, const struct known *what, struct known_record **records, int n, double second)
{
    static struct known_record *holds[KNOWN_RECORDS], *waits[KNOWN_RECORDS];
    static struct truth_waits all;
    memset(&all, 0, sizeof all);
    all.first = INT64_MAX;
    int n_holds = 0, n_waits = 0;
    for (int i = 0; i < n; i++)
        if (truth_is_hold(records[i]))
            holds[n_holds++] = records[i];
    for (int i = 0; i < n; i++) {
        int is_wait = what->is_condition || truth_is_wait(holds, n_holds, records[i]);
        truth_add(&all, records[i], is_wait);
        if (is_wait) {
            waits[n_waits++] = records[i];
            truth_charge(&all, holds, n_holds, records[i]);
        }
    }
    truth_count_holds(&all, holds, n_holds, waits, n_waits);
    truth_count_at_once(&all, waits, n_waits);
    truth_count_threads(&all, records, n);
    truth_print(file, what, &all, second);
}

static void truth_write_all(FILE *file, int are_conditions, double second)
{
    static struct known_record *records[KNOWN_RECORDS];
    const char *between = "";
    for (int i = 0; i < known_n_all; i++) {
        if (known_all[i].is_condition != are_conditions)
            continue;
        int n = 0;
        for (int j = 0; j < known_n_records; j++)
            if (known_records[j].what == &known_all[i])
                records[n++] = &known_records[j];
        qsort(records, (size_t)n, sizeof records[0], truth_by_have);
        fputs(between, file);
        truth_write_one(file, &known_all[i], records, n, second);
        between = ",\n";
    }
}

// From the monotonic clock to seconds since 1970: by the quickest of some readings, as a thread may lose its core in one.
static double truth_offset(void)
{
    int64_t offset = 0, quickest = INT64_MAX;
    for (int i = 0; i < 20; i++) {
        int64_t before = now_ns(CLOCK_MONOTONIC), between = now_ns(CLOCK_REALTIME), after = now_ns(CLOCK_MONOTONIC);
        if (after - before < quickest) {
            quickest = after - before;
            offset = between - after;
        }
    }
    return (double)offset / 1e9;
}

// To PATH.PID.PROGRAM, a file for each process image. `ended` as a profile says it. When nobody uses a lock any more.
UNUSED static void known_write(const char *path, const char *ended)
{
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s.%d.%s", path, (int)getpid(), program_invocation_short_name);
    FILE *file = fopen(name, "w");
    if (!file)
        FAIL("%s cannot be written", name);
    double second = truth_offset();
    fprintf(file, "{\"program\":\"%s\",\"pid\":%d,", program_invocation_short_name, (int)getpid());
    fprintf(file, "\"ended\":\"%s\",\n\"locks\":[", ended);
    truth_write_all(file, 0, second);
    fprintf(file, "],\n\"conditions\":[");
    truth_write_all(file, 1, second);
    fprintf(file, "],\n\"facts\":{");
    fprintf(file, "%s}}\n", known_facts);
    CHECK(fclose(file) == 0);
}

// In the child of a fork: what the parent did is no matter of its. Locks stay known, as their addresses stay.
UNUSED static void known_forked(void)
{
    known_n_records = 0;
    known_facts[0] = 0;
    known_thread = 0;
    for (int i = 0; i < known_n_all; i++)
        known_all[i].holding = -1;
}

#endif
