/* A scheme whose picks depend on every argument of every call, so that one wrong argument shows. */
#include <stddef.h>
#include <stdlib.h>

#include "flashgc.h"

typedef struct { uint64_t seen; uint32_t by; } state;

static uint64_t mixed(uint64_t hash, uint64_t value) {
    return (hash ^ value) * UINT64_C(1099511628211) % UINT64_C(4294967291);
}

static uint64_t now_in(uint64_t hash, flashgc_now now) { return mixed(mixed(hash, now.programs), now.host); }

static uint64_t place_in(uint64_t hash, flashgc_place at) { return mixed(mixed(hash, at.class_), at.block); }

static const char *describe(const flashgc_parameter *parameters, uint32_t count, flashgc_properties *properties) {
    properties->classes = 4;
    properties->takes_no_copies[3] = 1;
    properties->asks_for_zombies = 1;
    for (uint32_t i = 0; i < count; i++)
        if (parameters[i].name[0] != 'b' || parameters[i].value[0] < '1') return "its parameter is by, from 1 on\n!";
    return NULL;
}

static void *create(const flashgc_parameter *parameters, uint32_t count, const flashgc_drive *drive) {
    state *s = calloc(1, sizeof *s);
    s->by = count ? (uint32_t)atoi(parameters[0].value) : 1;
    s->seen = mixed(drive->pages, drive->pages_per_block);
    return s;
}

static void destroy(void *it) { free(it); }

static uint32_t host(void *it, uint32_t page, uint32_t stream, flashgc_place old, flashgc_now now) {
    const state *s = it;
    return (uint32_t)(now_in(place_in(mixed(mixed(s->seen, page), stream), old), now) / s->by % 4);
}

static uint32_t copy(void *it, uint32_t page, flashgc_place from, uint32_t is_zombie, flashgc_now now) {
    return (uint32_t)(now_in(place_in(mixed(mixed(((state *)it)->seen, page), is_zombie), from), now) % 3);
}

static void holds(void *it, uint32_t page, flashgc_place place, flashgc_now now) {
    state *s = it;
    s->seen = now_in(place_in(mixed(s->seen, page), place), now);
}

static void wrote(void *it, uint32_t page, flashgc_place from, flashgc_place to, flashgc_now now) {
    state *s = it;
    s->seen = now_in(place_in(place_in(mixed(s->seen, page), from), to), now);
}

static void trimmed(void *it, uint32_t page, flashgc_place from, flashgc_now now) {
    state *s = it;
    s->seen = now_in(place_in(mixed(s->seen, page), from), now);
}

static void opened(void *it, flashgc_place place, flashgc_now now) {
    state *s = it;
    s->seen = now_in(place_in(s->seen, place), now);
}

static void collected(void *it, const flashgc_collected *block, flashgc_now now) {
    state *s = it;
    s->seen = now_in(place_in(s->seen, block->place), block->opened);
    s->seen = now_in(mixed(mixed(s->seen, block->valid), block->pages), now);
}

static uint32_t pick(void *it, const flashgc_blocks *b) {
    state *s = it;
    uint64_t hash = s->seen;
    uint32_t at = FLASHGC_NONE, least = UINT32_MAX, drawn;
    do drawn = b->random(b->stream, b->blocks);
    while (b->valid[drawn] & FLASHGC_NOT_A_CANDIDATE);
    hash = mixed(mixed(mixed(mixed(mixed(hash, b->blocks), b->pages_per_block), b->first), b->candidates), drawn);
    hash = now_in(hash, b->now);
    for (uint32_t i = 0; i < b->blocks; i++) {
        hash = mixed(mixed(mixed(hash, b->valid[i]), b->erases[i]), b->classes[i]);
        hash = mixed(mixed(hash, b->closed_at[i]), b->closed_at_host[i]);
        hash = mixed(hash, b->zombies == NULL ? 7 : b->zombies[i]);
        if (b->valid[i] < least) least = b->valid[i];
    }
    /* One of those with little to copy: the first after a place that depends on all. */
    for (uint32_t n = 0; n < b->blocks; n++) {
        uint32_t i = (uint32_t)((hash + n) % b->blocks);
        if (b->valid[i] <= least + 1 && b->valid[i] < b->pages_per_block) {
            at = i;
            break;
        }
    }
    return at;
}

#define BEGIN .abi = FLASHGC_ABI, .size = sizeof(flashgc_scheme)

FLASHGC_SCHEME(mixing) = {
    BEGIN, .describe = describe, .create = create, .destroy = destroy, .pick = pick, .host = host, .copy = copy,
    .holds = holds, .wrote = wrote, .trimmed = trimmed, .copied = wrote, .opened = opened, .collected = collected,
};

/* What is refused. */
static uint32_t beyond(void *it, const flashgc_blocks *b) { (void)it; return b->blocks + 5; }
static uint32_t nothing(void *it, const flashgc_blocks *b) { (void)it, (void)b; return FLASHGC_NONE; }
static uint32_t seventh(void *it, uint32_t page, uint32_t stream, flashgc_place old, flashgc_now now) {
    (void)it, (void)stream, (void)old, (void)now;
    return page == 100 ? 7 : 0;
}
static uint32_t third(void *it, uint32_t page, flashgc_place from, uint32_t is_zombie, flashgc_now now) {
    (void)it, (void)page, (void)from, (void)is_zombie, (void)now;
    return 3;
}
static uint32_t zeroth(void *it, uint32_t page, flashgc_place from, uint32_t is_zombie, flashgc_now now) {
    (void)it, (void)page, (void)from, (void)is_zombie, (void)now;
    return 0;
}
static const char *no_class(const flashgc_parameter *parameters, uint32_t count, flashgc_properties *properties) {
    (void)parameters, (void)count;
    properties->classes = 0;
    return NULL;
}
static const char *no_copies(const flashgc_parameter *parameters, uint32_t count, flashgc_properties *properties) {
    (void)parameters, (void)count;
    properties->takes_no_copies[0] = 1;
    return NULL;
}
static void *no_state(const flashgc_parameter *parameters, uint32_t count, const flashgc_drive *drive) {
    (void)parameters, (void)count, (void)drive;
    return NULL;
}

FLASHGC_SCHEME(bad_pick) = { BEGIN, .pick = beyond };
FLASHGC_SCHEME(no_pick) = { BEGIN, .pick = nothing };
FLASHGC_SCHEME(bad_host) = { BEGIN, .host = seventh, .copy = zeroth };
FLASHGC_SCHEME(bad_copy) = { BEGIN, .host = host, .copy = third, .describe = describe, .create = create, .destroy = destroy };
FLASHGC_SCHEME(half) = { BEGIN, .host = host };
FLASHGC_SCHEME(empty) = { BEGIN };
FLASHGC_SCHEME(later) = { .abi = FLASHGC_ABI + 1, .size = sizeof(flashgc_scheme), .pick = pick };
FLASHGC_SCHEME(small) = { .abi = FLASHGC_ABI, .size = 8, .pick = pick };
FLASHGC_SCHEME(classless) = { BEGIN, .host = host, .copy = copy, .describe = no_class };
FLASHGC_SCHEME(copyless) = { BEGIN, .host = host, .copy = copy, .describe = no_copies };
FLASHGC_SCHEME(stateless) = { BEGIN, .pick = pick, .create = no_state };
/* An older scheme, whose struct ends after its victim policy. */
FLASHGC_SCHEME(older) = {
    .abi = FLASHGC_ABI, .size = offsetof(flashgc_scheme, host), .pick = pick, .create = create, .destroy = destroy,
    .host = host, .copy = copy,
};
