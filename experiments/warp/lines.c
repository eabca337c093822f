// A naive drive of reclaim units as FEMU has them, to be read in a few minutes.
//
// usage: lines KEY=VALUE... < MIX
//
// MIX has a line for each interval of time: the pages of 4 KiB that the sequential stream, the jumper and the
// random stream wrote in it. A page of this drive stands for `scale` such pages. Prints the amplification of
// each drive write after the fill, then that of the last quarter of the lines, then the units with data.
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
// The workload.
static int jumper = 2, randoms = 1; // the handles of the jumper and of the random stream; sequential is 0
static double theta = 0;            // the jumper's zipf exponent; 0: uniform
static int zoned = 0;               // 1: the jumper sends 80% to 20%, 10% to 20%, 10% to 60% of its range
static int scale = 64;

static int *map, *page_at, *valid, *state, *order;
static int waiting[1 << 14], first, last, erased; // the erased units, first in, first out
static int open[HANDLES], next[HANDLES];
static long programmed;

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

static void collect(int unit) {
    state[unit] = VICTIM;
    for (int i = 0; i < pages; i++) {
        int place = unit * pages + order[i], page = page_at[place];
        if (map[page] == place) program(COPIES, page);
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

static void write_page(int handle, int page) {
    while (erased <= reserve) collect(greedy());
    int old = map[page] < 0 ? -1 : map[page] / pages;
    if (old >= 0) valid[old]--;
    program(handle, page);
    // FEMU looks after each request, if at most a tenth of the units is free.
    if (old >= 0 && lazy && state[old] == FULL && valid[old] * 100 <= lazy * pages && erased <= units / 10) collect(old);
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

int main(int count, char **arguments) {
    struct { const char *key; int *value; } keys[] = {
        {"units", &units}, {"pages", &pages}, {"logical", &logical}, {"reserve", &reserve}, {"by_die", &by_die},
        {"lazy", &lazy}, {"idle", &idle}, {"jumper", &jumper}, {"randoms", &randoms}, {"zoned", &zoned}, {"scale", &scale}};
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
    valid = calloc(units, sizeof(int)), state = calloc(units, sizeof(int)), order = malloc(pages * sizeof(int));
    memset(map, -1, all * sizeof(int));
    for (int i = 0; i < pages; i++) order[i] = by_die ? i % (pages / DIES) * DIES + i / (pages / DIES) : i;
    for (int unit = 0; unit < units; unit++) waiting[last++] = unit, erased++;
    for (int h = 0; h < HANDLES; h++)
        if (idle || h == 0 || h == COPIES || h == jumper || h == randoms) open_unit(h);

    // The fill: 9/10 in sequence, beside as many random writes to the last tenth as it has pages.
    for (int page = 0; page < range; page++) {
        write_page(0, page);
        if (page % 9 == 0) write_page(randoms, range + (int)(draw() * (all - range)));
    }
    long before = programmed, host = 0, host_before = 0;
    static double mix[1 << 20][3];
    int lines = 0, sequential = 0;
    while (lines < 1 << 20 && scanf("%lf %lf %lf", &mix[lines][0], &mix[lines][1], &mix[lines][2]) == 3) lines++;
    double left[3] = {0};
    long quarter = 0, quarter_host = 0;
    for (int line = 0; line < lines; line++) {
        if (line == lines * 3 / 4) quarter = programmed, quarter_host = host;
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
    int used = 0;
    for (int unit = 0; unit < units; unit++) used += state[unit] == FULL || state[unit] == OPEN;
    printf("last %.3f free %d\n", (double)(programmed - quarter) / (host - quarter_host), erased);
}
