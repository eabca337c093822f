/* A naive drive with the rules of ZLeanStore's simulator, each of which can be exchanged for flashgc's.
 *
 *   drive units=N pages=N logical=N begin=N rule=NAME [host=1] [region=1] [order=1] [room=1] [list=1] [late=1]
 *
 * Reads a trace (time,op,byte,size,...; writes of a page of 4 KiB), which follows a sequential fill.
 * Prints the programs from write `begin` of the trace on. It shares no code with either. With every
 * switch 0 a rule is the simulator's; with every switch 1 it is flashgc's:
 *
 *   host    greedy-s2r: the unit that the host has just filled is no victim
 *   region  2r-greedy: a search begins in the region of the best unit and goes on in the other one;
 *           the simulator stays in a region that has a unit's worth of invalid pages
 *   order   units that copies fill are listed as they are filled; there, as they were picked
 *   room    copies go to any room; there, only to the unit of the victim picked next
 *   list    2r-fifo: victims leave the list at once, and the bound is exact; there, they leave after
 *           the search, and the bound is a sum of doubles
 *   late    2r-fifo: a unit that copies fill exactly is listed after the host's next one
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOBODY = -1 };
typedef struct { int filled, valid, *page; } Unit;
typedef struct { int count, *unit; } List;

static long units, pages, logical, begin, host_kept, by_best, as_filled, any_room, left_at_once, late;
static Unit *unit;
static long *place; /* Unit x pages + slot of each page, or NOBODY. */
static long programs;
static List idle, normal, cold, queue; /* `queue` has all units of 2r-fifo. */
static int host, copies = NOBODY, held = NOBODY, hand = NOBODY;
static long steps;
static double bound = 0.5;
static int victim[1 << 16], victims;

static void push(List *list, int number) { list->unit[list->count++] = number; }

static int removed(List *list, int at) {
    int number = list->unit[at];
    memmove(list->unit + at, list->unit + at + 1, sizeof(int) * (size_t)(--list->count - at));
    return number;
}

static int is_victim(int number) {
    for (int i = 0; i < victims; i++) if (victim[i] == number) return 1;
    return 0;
}

static void program(int page, int to) {
    if (place[page] != NOBODY) {
        Unit *old = &unit[place[page] / pages];
        old->page[place[page] % pages] = NOBODY;
        old->valid--;
    }
    place[page] = to * pages + unit[to].filled;
    unit[to].page[unit[to].filled++] = page;
    unit[to].valid++;
    programs++;
}

static int has_room(int number) { return unit[number].filled < pages; }

/* Moves pages in order, until there is no room; true if none is left. */
static int moved(int from, int to) {
    for (int i = 0; i < unit[from].filled && has_room(to); i++)
        if (unit[from].page[i] != NOBODY) program(unit[from].page[i], to);
    return !unit[from].valid;
}

static void compact(int number) {
    Unit *one = &unit[number];
    int count = one->filled, kept = 0;
    int *old = malloc(sizeof(int) * (size_t)(count + 1));
    for (int i = 0; i < count; i++) if (one->page[i] != NOBODY) old[kept++] = one->page[i];
    one->filled = one->valid = 0;
    for (int i = 0; i < kept; i++) place[old[i]] = NOBODY, program(old[i], number);
    free(old);
}

static int fewest_valid(int but) {
    int best = NOBODY;
    for (int i = 0; i < units; i++)
        if (i != but && !has_room(i) && (best == NOBODY || unit[i].valid < unit[best].valid)) best = i;
    return best;
}

static void greedy(void) {
    int found = fewest_valid(NOBODY);
    compact(found);
    push(&idle, found);
}

static void copies_apart(void) {
    for (;;) {
        int found = fewest_valid(host_kept ? host : NOBODY);
        if (copies != NOBODY && moved(found, copies)) {
            unit[found].filled = 0;
            push(&idle, found);
            return;
        }
        compact(found);
        copies = found;
    }
}

static long invalid(const List *list) {
    long sum = 0;
    for (int i = 0; i < list->count; i++) sum += pages - unit[list->unit[i]].valid;
    return sum;
}

static int best(const List *list) {
    int at = 0;
    for (int i = 1; i < list->count; i++)
        if (unit[list->unit[i]].valid < unit[list->unit[at]].valid) at = i;
    return at;
}

static void pick_in_regions(void) {
    long least = by_best ? 1 : pages;
    List *from = &cold;
    if (invalid(&cold) < least) from = &normal;
    else if (invalid(&normal) >= least
             && unit[normal.unit[best(&normal)]].valid < unit[cold.unit[best(&cold)]].valid) from = &normal;
    for (long gained = 0; gained < pages;) {
        if (!invalid(from)) from = from == &cold ? &normal : &cold;
        int found = removed(from, best(from));
        gained += pages - unit[found].valid;
        victim[victims++] = found;
    }
}

static int is_below(int valid) {
    if (left_at_once) return 20L * valid < (long)(20 * bound + 0.5) * pages;
    return valid / (double)pages < bound;
}

static void pick_in_turn(void) {
    if (hand == NOBODY || hand >= queue.count) hand = 0, steps = 0;
    long depth = (long)(0.7 * queue.count);
    for (long gained = 0; gained < pages;) {
        int at = queue.unit[hand];
        int seen = is_victim(at);
        if (left_at_once) {
            depth = (queue.count - victims) * 7L / 10;
            if (seen) { hand++; continue; }
        }
        if (!seen && is_below(unit[at].valid)) {
            victim[victims++] = at;
            gained += pages - unit[at].valid;
        }
        hand++;
        if (++steps >= depth) hand = 0, steps = 0, bound += 0.05;
    }
    bound = 0.7;
}

/* The last victim's pages come first. */
static void compact_all(void) {
    int to = victim[victims - 1];
    if (victims > 1 || any_room) compact(to);
    for (int i = victims - 2; i >= 0; i--) {
        if (moved(victim[i], to)) unit[victim[i]].filled = 0;
        else compact(victim[i]);
        if (!any_room || unit[victim[i]].valid) to = victim[i];
    }
    if (victims == 1) unit[to].filled = 0;
}

static void leave(int number) {
    for (int i = 0; i < queue.count; i++)
        if (queue.unit[i] == number) {
            removed(&queue, i);
            if (hand > i) hand--;
            return;
        }
}

static void compact_regions(int in_turn) {
    victims = 0;
    if (in_turn) pick_in_turn(); else pick_in_regions();
    long gained = 0;
    for (int i = 0; i < victims; i++) gained += pages - unit[victim[i]].valid;
    compact_all();
    if (late && gained == pages && victims > 1) held = victim[1];
    if (in_turn) for (int i = 0; i < victims; i++) leave(victim[i]);
    for (int i = 0; i < victims; i++) {
        int number = victim[as_filled ? victims - 1 - i : i];
        if (!has_room(number) && number != held) push(in_turn ? &queue : &cold, number);
    }
    for (int partial = 0; partial < 2; partial++)
        for (int i = 0; i < victims; i++)
            if (has_room(victim[i]) && !!unit[victim[i]].filled == partial) push(&idle, victim[i]);
}

static void host_write(int page, const char *rule) {
    if (!has_room(host)) {
        int two_regions = !strncmp(rule, "2r-", 3), in_turn = !strcmp(rule, "2r-fifo");
        if (two_regions) push(in_turn ? &queue : &normal, host);
        if (held != NOBODY) push(&queue, held), held = NOBODY;
        if (!idle.count) {
            if (two_regions) compact_regions(in_turn);
            else if (!strcmp(rule, "greedy-s2r")) copies_apart();
            else greedy();
        }
        host = removed(&idle, 0);
    }
    program(page, host);
}

static long number(int count, char **given, const char *name) {
    size_t length = strlen(name);
    for (int i = 1; i < count; i++)
        if (!strncmp(given[i], name, length) && given[i][length] == '=') return atol(given[i] + length + 1);
    return 0;
}

int main(int count, char **given) {
    const char *rule = "greedy";
    for (int i = 1; i < count; i++) if (!strncmp(given[i], "rule=", 5)) rule = given[i] + 5;
    units = number(count, given, "units"), pages = number(count, given, "pages");
    logical = number(count, given, "logical"), begin = number(count, given, "begin");
    host_kept = number(count, given, "host"), by_best = number(count, given, "region");
    as_filled = number(count, given, "order"), any_room = number(count, given, "room");
    left_at_once = number(count, given, "list");
    late = number(count, given, "late") && !strcmp(rule, "2r-fifo");
    unit = calloc((size_t)units, sizeof *unit);
    place = malloc(sizeof *place * (size_t)logical);
    List *lists[] = {&idle, &normal, &cold, &queue};
    for (int i = 0; i < 4; i++) lists[i]->unit = malloc(sizeof(int) * (size_t)(2 * units));
    for (int i = 0; i < units; i++) {
        unit[i].page = malloc(sizeof(int) * (size_t)pages);
        push(&idle, i);
    }
    for (long i = 0; i < logical; i++) place[i] = NOBODY;
    host = removed(&idle, 0);
    for (int i = 0; i < logical; i++) host_write(i, rule);
    char line[128], op;
    unsigned long long byte;
    long writes = 0, before = 0;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%*[^,],%c,%llu", &op, &byte) != 2) continue; /* The heading. */
        if (writes++ == begin) before = programs;
        host_write((int)(byte / 4096), rule);
    }
    printf("programs %ld\n", programs - before);
}
