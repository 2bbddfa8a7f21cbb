#include POLICY

enum claim { HIT, MERGE, MISS, WAIT };

/* The frame is for `page`, and empty; new pages are first in their hash chain. */
static inline void enter(struct tables *t, uint32_t name, uint32_t page)
{
    struct frame *frame = &t->frames[name];
    uint32_t *chain = &t->chains[page & t->mask];
    frame->page = page;
    frame->valid = 0;
    frame->fills = NONE;
    frame->chain = *chain;
    *chain = name;
}

/* The job waits for the first read that brings some of what it misses; without one, data is lost. */
static inline uint32_t wait_for_data(struct tables *t, uint32_t name, uint32_t missing)
{
    uint32_t read = t->frames[t->jobs[name].frame].fills;
    LOOP while (read != NONE && !(t->fills[read].pairs & missing))
        read = t->fills[read].next;
    if (read == NONE)
        return 0;
    struct fill *fill = &t->fills[read];
    t->jobs[name].next = NONE;
    if (fill->waiting == NONE)
        fill->waiting = name;
    else
        t->jobs[fill->last_waiting].next = name;
    fill->last_waiting = name;
    return 1;
}

/* A read of all pairs from the first to the last one that is absent. */
static inline void begin_fill(struct tables *t, uint32_t name, uint32_t absent, uint32_t *link)
{
    uint32_t read = t->free_fill;
    struct fill *fill = &t->fills[read];
    t->free_fill = fill->next;
    absent |= t->jobs[name].widen;
    uint32_t top = 1u << (31 - __builtin_clz(absent));
    fill->pairs = 2 * top - (absent & -absent);
    fill->frame = t->jobs[name].frame;
    fill->job = name;
    fill->next = NONE;
    fill->waiting = NONE;
    *link = read;
}

/* What a job with a frame still needs. */
static inline enum claim judge(struct tables *t, uint32_t name)
{
    struct job *job = &t->jobs[name];
    struct frame *frame = &t->frames[job->frame];
    uint32_t missing = job->pairs & ~frame->valid;
    if (!missing) {
        job->ok = 1;
        push(&t->ready, name);
        return HIT;
    }
    uint32_t arriving = 0;
    uint32_t *link = &frame->fills;
    LOOP while (*link != NONE) {
        arriving |= t->fills[*link].pairs;
        link = &t->fills[*link].next;
    }
    if (missing & ~arriving) {
        begin_fill(t, name, missing & ~arriving, link);
        return MISS;
    }
    wait_for_data(t, name, missing);
    return MERGE;
}

/* No frame: behind the other jobs that wait, with those of the same page. */
static inline void wait_for_frame(struct tables *t, uint32_t name)
{
    struct job *job = &t->jobs[name];
    uint32_t *link = &t->waiting;
    LOOP while (*link != NONE && t->jobs[*link].page != job->page)
        link = &t->jobs[*link].next;
    job->next = NONE;
    job->same = NONE;
    if (*link == NONE) {
        *link = name;
        job->last_same = name;
    } else {
        struct job *first = &t->jobs[*link];
        t->jobs[first->last_same].same = name;
        first->last_same = name;
    }
}

/* Pin the frame of a job's page. A page without one gets a fresh frame, or that of the page that the
 * policy chooses; if all are pinned the job waits for one.
 */
uint32_t buffer_claim(struct tables *t, uint32_t name)
{
    uint32_t page = t->jobs[name].page;
    uint32_t found = t->chains[page & t->mask];
    LOOP while (found != NONE && t->frames[found].page != page)
        found = t->frames[found].chain;
    if (found != NONE) {
        use(t, found);
        t->frames[found].pins++;
    } else {
        found = t->used;
        if (found < t->capacity) {
            t->used++;
            begin(t, found);
        } else {
            found = replace(t, page);
            if (found == t->capacity) {
                wait_for_frame(t, name);
                return WAIT;
            }
        }
        enter(t, found, page);
        t->frames[found].pins = 1;
    }
    t->jobs[name].frame = found;
    return judge(t, name);
}

/* Go on with a job that waited, and whose frame is pinned by now. Returns the job and the claim. */
uint32_t buffer_grant(struct tables *t)
{
    uint32_t name = pop(&t->granted);
    return name << 2 | judge(t, name);
}

/* The job has all that it wanted, waits for another read, or has lost something. */
static inline void go_on(struct tables *t, uint32_t name, uint32_t ok)
{
    struct job *job = &t->jobs[name];
    if (ok) {
        uint32_t missing = job->pairs & ~t->frames[job->frame].valid;
        if (missing) {
            if (wait_for_data(t, name, missing))
                return;
            ok = 0;
        }
    }
    job->ok = ok;
    push(&t->ready, name);
}

static inline void free_fill(struct tables *t, uint32_t read)
{
    t->fills[read].next = t->free_fill;
    t->free_fill = read;
}

/* A read has ended: its data is in the frame, unless it could not be corrected. */
void buffer_fill(struct tables *t, uint32_t read, uint32_t ok)
{
    struct fill *fill = &t->fills[read];
    struct frame *frame = &t->frames[fill->frame];
    uint32_t *link = &frame->fills;
    LOOP while (*link != read)
        link = &t->fills[*link].next;
    *link = fill->next;
    if (ok)
        frame->valid |= fill->pairs;
    fill->ok = ok;
    uint32_t job = fill->job;
    if (fill->waiting != NONE)
        push(&t->woken, read);
    else
        free_fill(t, read);
    go_on(t, job, ok);
}

/* Wake one job of those that wait for the read that ended first. Returns the job. */
uint32_t buffer_wake(struct tables *t)
{
    uint32_t read = t->woken.entries[t->woken.head % JOBS];
    struct fill *fill = &t->fills[read];
    uint32_t name = fill->waiting;
    uint32_t ok = fill->ok;
    fill->waiting = t->jobs[name].next;
    if (fill->waiting == NONE) {
        t->woken.head++;
        free_fill(t, read);
    }
    go_on(t, name, ok);
    return name;
}

/* A job has ended. Its frame, if nobody else uses it, goes to the page that has waited longest, or
 * is idle.
 */
void buffer_release(struct tables *t, uint32_t name)
{
    struct job *job = &t->jobs[name];
    uint32_t found = job->frame;
    uint32_t request = job->request;
    job->next = t->free_job;
    t->free_job = name;
    uint32_t left = --t->requests[request].jobs;
    t->finished.entries[t->finished.tail % JOBS] = request;
    t->finished.tail += (left - 1) >> 31; /* if none is left, without a branch */
    if (--t->frames[found].pins)
        return;
    uint32_t next = t->waiting;
    if (next == NONE) {
        rest(t, found);
        return;
    }
    t->waiting = t->jobs[next].next;
    hand_over(t, found, t->jobs[next].page);
    enter(t, found, t->jobs[next].page);
    LOOP do {
        t->jobs[next].frame = found;
        push(&t->granted, next);
        t->frames[found].pins++;
        next = t->jobs[next].same;
    } while (next != NONE);
}
