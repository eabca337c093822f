// A naive drive of reclaim units as FEMU has them, to be read in a few minutes.
//
// usage: lines KEY=VALUE... < MIX
//
// MIX has a line for each interval of time: the pages of 4 KiB that the sequential stream, the jumper and the
// random stream wrote in it. A page of this drive stands for `scale` such pages. Prints the amplification of
// each drive write after the fill, then of the last quarter of the lines: the amplification and that of each handle.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FREE, OPEN, FULL, VICTIM };
enum { COPIES = 7, HANDLES = 8, DIES = 64 };

// The drive: WARP-A2, at 1/64.
static int units = 4086, pages = 512, logical = 3584; // logical: in units
static int reserve = 40;  // collect while this many units or fewer are free
static int by_die = 1;    // copy a victim die by die; 0: as it was written
static int lazy = 5;      // collect units with this percent of valid pages early; 0: never
static int idle = 1;      // 1: handles that nobody writes hold an open unit, too
// Whose copies share units: 0: all, those of handle COPIES; 1: those of one handle; 2: those of collections that one
// handle's writes have begun.
static int persistent = 0;
// The workload.
static int jumper = 2, randoms = 1; // the handles of the jumper and of the random stream; sequential is 0
static double theta = 0;            // the jumper's zipf exponent; 0: uniform
static int zoned = 0;               // 1: the jumper sends 80% to 20%, 10% to 20%, 10% to 60% of its range
static int scale = 64;
static int passes = 0; // this often, every block of 128 KiB in a random order, in place of the mix
static int request = 32; // pages of a block of these passes
static int fill = 1; // the random writes of the fill: 0: none, 1: beside the sequential ones, 2: after them

static int *map, *page_at, *valid, *state, *order, *owner;
static int waiting[1 << 14], first, last, erased; // the erased units, first in, first out
static int open[2 * HANDLES], next[2 * HANDLES]; // HANDLES + h: persistently isolated copies of handle h
static long programmed, written[HANDLES], copied[HANDLES];

static uint64_t seed = 1;
static double draw(void) { // splitmix64
    uint64_t z = (seed += 0x9E3779B97F4A7C15u);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return ((z ^ z >> 31) >> 11) * 0x1p-53;
}

static void open_unit(int handle) {
    open[handle] = waiting[first++ % (1 << 14)];
    erased--;
    state[open[handle]] = OPEN;
    owner[open[handle]] = handle % HANDLES;
    next[handle] = 0;
}

static void program(int handle, int page) {
    int unit = open[handle], place = unit * pages + next[handle]++;
    map[page] = place;
    page_at[place] = page;
    valid[unit]++;
    programmed++;
    if (next[handle] == pages) {
        state[unit] = FULL;
        open_unit(handle);
    }
}

static void collect(int unit, int writer) {
    int copies = persistent == 2 ? HANDLES + writer : persistent ? HANDLES + owner[unit] : COPIES;
    state[unit] = VICTIM;
    if (open[copies] < 0) open_unit(copies);
    for (int i = 0; i < pages; i++) {
        int place = unit * pages + order[i], page = page_at[place];
        if (map[page] == place) program(copies, page), copied[owner[unit]]++;
    }
    state[unit] = FREE;
    valid[unit] = 0;
    waiting[last++ % (1 << 14)] = unit;
    erased++;
}

static int greedy(void) {
    int best = -1;
    for (int unit = 0; unit < units; unit++)
        if (state[unit] == FULL && valid[unit] < pages && (best < 0 || valid[unit] < valid[best])) best = unit;
    return best;
}

// The handle of the next request, which begins a collection. Sequential requests have 32 pages, the others one.
static double left[3]; // pages to write by the sequential stream, the jumper and the random stream
static int beginner(void) {
    double at = draw() * (left[0] / 32 + left[1] + left[2]);
    return at < left[0] / 32 ? 0 : at < left[0] / 32 + left[1] ? jumper : randoms;
}

static void write_page(int handle, int page) {
    while (erased <= reserve) collect(greedy(), persistent == 2 ? beginner() : 0);
    int old = map[page] < 0 ? -1 : map[page] / pages;
    if (old >= 0) valid[old]--;
    program(handle, page);
    written[handle]++;
    // FEMU looks after each request, if at most a tenth of the units is free.
    if (old >= 0 && lazy && state[old] == FULL && valid[old] * 100 <= lazy * pages && erased <= units / 10) collect(old, 0);
}

// fio's zipf: Gray's approximation over all pages of the full-size drive, then a hash that may collide.
static int zipf(int range) {
    static double sum, eta;
    double ranks = (double)range * scale;
    if (!sum) {
        for (long k = 1; k <= ranks && k <= 10000000; k++) sum += pow(k, -theta);
        eta = (1 - pow(2 / ranks, 1 - theta)) / (1 - (1 + pow(.5, theta)) / sum);
    }
    double u = draw(), z = u * sum;
    uint64_t rank = z < 1 ? 0 : z < 1 + pow(.5, theta) ? 1 : ranks * pow(eta * u - eta + 1, 1 / (1 - theta));
    return rank / scale * 0x61C8864680B583EBu % range;
}

static int jump(int range) {
    if (theta > 0) return zipf(range);
    double zone = draw(), u = draw();
    if (!zoned) return range * u;
    return range * (zone < .8 ? .2 * u : zone < .9 ? .2 + .2 * u : .4 + .6 * u);
}

// fio's random writes with its map of blocks: each pass writes each block of 128 KiB once, and a draw that hits a block
// already written takes the next one that is not. Prints the amplification of each eighth of the last pass, then that
// of the second half of the passes.
static int one_stream(int all) {
    int requests = all / request, *later = malloc((requests + 1) * sizeof(int)); // later: a block to look at next
    long half = 0, before;
    for (int pass = 0; pass < passes; pass++) {
        if (pass == passes / 2) half = programmed;
        for (int i = 0; i <= requests; i++) later[i] = i;
        before = programmed;
        for (int i = 0; i < requests; i++) {
            int drawn = draw() * requests, block = drawn;
            while (later[block] != block) block = later[block] = later[later[block]];
            if (block == requests) // none is left up to the end
                for (block = 0; later[block] != block;) block = later[block] = later[later[block]];
            later[block] = block + 1;
            for (int page = 0; page < request; page++) write_page(0, block * request + page);
            if (pass == passes - 1 && (i + 1) * 8L / requests > i * 8L / requests)
                printf("%.2f ", (programmed - before) * 8.0 / all), before = programmed;
        }
    }
    printf("last %.3f free %d\n", (double)(programmed - half) / ((long)(passes - passes / 2) * all), erased);
    return 0;
}

int main(int count, char **arguments) {
    struct { const char *key; int *value; } keys[] = {
        {"units", &units}, {"pages", &pages}, {"logical", &logical}, {"reserve", &reserve}, {"by_die", &by_die},
        {"lazy", &lazy}, {"idle", &idle}, {"jumper", &jumper}, {"randoms", &randoms}, {"zoned", &zoned}, {"scale", &scale},
        {"persistent", &persistent}, {"fill", &fill}, {"passes", &passes}, {"request", &request}};
    for (int i = 1; i < count; i++) {
        char *value = strchr(arguments[i], '=');
        int known = 0;
        if (value) *value++ = 0;
        if (value && !strcmp(arguments[i], "theta")) theta = atof(value), known = 1;
        for (size_t k = 0; value && k < sizeof keys / sizeof *keys; k++)
            if (!strcmp(arguments[i], keys[k].key)) *keys[k].value = atoi(value), known = 1;
        if (!known) return fprintf(stderr, "lines: unknown argument %s\n", arguments[i]), 2;
    }
    int all = logical * pages, range = all / 10 * 9;
    map = malloc(all * sizeof(int)), page_at = calloc((size_t)units * pages, sizeof(int));
    valid = calloc(units, sizeof(int)), state = calloc(units, sizeof(int)), owner = calloc(units, sizeof(int)), order = malloc(pages * sizeof(int));
    memset(map, -1, all * sizeof(int));
    for (int i = 0; i < pages; i++) order[i] = by_die ? i % (pages / DIES) * DIES + i / (pages / DIES) : i;
    for (int unit = 0; unit < units; unit++) waiting[last++] = unit, erased++;
    for (int h = 0; h < 2 * HANDLES; h++) open[h] = -1;
    for (int h = 0; h < HANDLES; h++)
        if (idle || h == 0 || (h == COPIES && !persistent) || h == jumper || h == randoms) open_unit(h);

    if (passes) return one_stream(all);

    // The fill: 9/10 in sequence, and as many random writes to the last tenth as it has pages.
    for (int page = 0; page < range; page++) {
        write_page(0, page);
        if (fill == 1 && page % 9 == 0) write_page(randoms, range + (int)(draw() * (all - range)));
    }
    for (int page = 0; fill == 2 && page < all - range; page++) write_page(randoms, range + (int)(draw() * (all - range)));
    long before = programmed, host = 0, host_before = 0;
    static double mix[1 << 20][3];
    int lines = 0, sequential = 0;
    while (lines < 1 << 20 && scanf("%lf %lf %lf", &mix[lines][0], &mix[lines][1], &mix[lines][2]) == 3) lines++;
    long quarter = 0, quarter_host = 0;
    for (int line = 0; line < lines; line++) {
        if (line == lines * 3 / 4) {
            quarter = programmed, quarter_host = host;
            memset(written, 0, sizeof written), memset(copied, 0, sizeof copied);
        }
        for (int s = 0; s < 3; s++) left[s] += mix[line][s] / scale;
        for (double rest; (rest = left[0] + left[1] + left[2]) >= 1; host++) {
            double at = draw() * rest;
            int stream = at < left[0] ? 0 : at < left[0] + left[1] ? 1 : 2;
            left[stream] = left[stream] > 1 ? left[stream] - 1 : 0;
            if (stream == 0) write_page(0, sequential), sequential = (sequential + 1) % range;
            if (stream == 1) write_page(jumper, jump(range));
            if (stream == 2) write_page(randoms, range + (int)(draw() * (all - range)));
            if (host + 1 - host_before == all) {
                printf("%.3f ", (double)(programmed - before) / all);
                before = programmed, host_before = host + 1;
            }
        }
    }
    printf("last %.3f free %d handles", (double)(programmed - quarter) / (host - quarter_host), erased);
    for (int h = 0; h < HANDLES; h++)
        if (written[h]) printf(" %.3f", 1 + (double)copied[h] / written[h]);
    printf("\n");
}
