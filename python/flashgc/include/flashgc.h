/* flashgc.h: schemes for flashgc in C, C++, Rust, Zig or anything that makes a shared library.
 *
 * A scheme is a victim policy, a placement, or both. Export it as a constant:
 *
 *     FLASHGC_SCHEME(mine) = {
 *         .abi = FLASHGC_ABI, .size = sizeof(flashgc_scheme), .pick = pick,
 *     };
 *
 *     cc -O2 -shared -fPIC -o mine.so mine.c
 *     flashgc run --victim lib:./mine.so:mine
 *
 * Each plane of a drive has a block table of its own. flashgc calls the functions of one drive from one
 * thread at a time, and those of several drives from several threads: keep no state in global variables.
 * Functions may not keep pointers that they are given, and may not throw exceptions.
 */
#ifndef FLASHGC_H
#define FLASHGC_H

#include <stdint.h>

#ifdef __cplusplus
#define FLASHGC_SCHEME(name) extern "C" __attribute__((visibility("default"))) const flashgc_scheme name
extern "C" {
#else
#define FLASHGC_SCHEME(name) __attribute__((visibility("default"))) const flashgc_scheme name
#endif

/* The version of this interface. Later versions append members; the old ones stay. */
#define FLASHGC_ABI 1
/* No block, no class, no stream. */
#define FLASHGC_NONE UINT32_MAX
/* Added to a count of valid pages while the block is open or erased, so that it cannot be picked. */
#define FLASHGC_NOT_A_CANDIDATE (UINT32_C(1) << 30)
/* The most classes of a placement. */
#define FLASHGC_CLASSES 255

/* A time, on both clocks: pages programmed (by host writes and copies), and pages that the host has written. */
typedef struct flashgc_now {
    uint64_t programs;
    uint64_t host;
} flashgc_now;

/* Where a page is: the class for which its block was opened, and the block's number in the drive. Both are
 * FLASHGC_NONE if the page has no data. */
typedef struct flashgc_place {
    uint32_t class_;
    uint32_t block;
} flashgc_place;

/* A parameter of the scheme, as the user wrote it: lib:./mine.so:mine,alpha=0.25. */
typedef struct flashgc_parameter {
    const char *name;
    const char *value;
} flashgc_parameter;

typedef struct flashgc_drive {
    uint32_t pages;           /* logical pages */
    uint32_t pages_per_block;
} flashgc_drive;

/* What flashgc must know before there is a drive. */
typedef struct flashgc_properties {
    uint32_t classes;                      /* of a placement, 1 to FLASHGC_CLASSES */
    uint32_t remembers;                    /* writes of a page that the scheme looks back at; 0: none */
    uint8_t asks_for_zombies;              /* not 0: copy and blocks have zombies */
    uint8_t takes_no_copies[FLASHGC_CLASSES]; /* not 0: no copy may go to this class */
} flashgc_properties;

/* The blocks of a plane, one entry a block. They are read in place, and are valid during the call. */
typedef struct flashgc_blocks {
    uint32_t blocks;
    uint32_t pages_per_block;
    uint32_t first;               /* the number in the drive of block 0 of this table */
    uint32_t candidates;          /* how many blocks may be picked */
    const uint32_t *valid;        /* valid pages, with FLASHGC_NOT_A_CANDIDATE where it applies */
    const uint32_t *erases;
    const uint8_t *classes;       /* class for which the block was opened; 255 without a placement */
    const uint64_t *closed_at;    /* the clock `programs` when the block became a candidate last */
    const uint64_t *closed_at_host; /* the clock `host` at that time */
    const uint32_t *zombies;      /* pages that the host will soon write; NULL if the drive keeps none */
    flashgc_now now;
    /* A number below `bound`, from the random stream of the drive. */
    uint32_t (*random)(void *stream, uint32_t bound);
    void *stream;
} flashgc_blocks;

/* A block that is about to be collected. */
typedef struct flashgc_collected {
    flashgc_place place;
    flashgc_now opened;
    uint32_t valid;
    uint32_t pages;
} flashgc_collected;

typedef struct flashgc_scheme {
    uint32_t abi;   /* FLASHGC_ABI */
    uint32_t size;  /* sizeof(flashgc_scheme) */

    /* Checks the parameters and sets the properties; `properties` has one class at first. It returns NULL, or a
     * text that says what is wrong. Without it, the scheme has no parameters and one class. */
    const char *(*describe)(const flashgc_parameter *parameters, uint32_t count, flashgc_properties *properties);
    /* Makes the state of one drive; NULL says that it cannot be made. Without it, the state is NULL. */
    void *(*create)(const flashgc_parameter *parameters, uint32_t count, const flashgc_drive *drive);
    void (*destroy)(void *state);

    /* A victim policy: returns a candidate, as its index in the table; FLASHGC_NONE only if all are full. */
    uint32_t (*pick)(void *state, const flashgc_blocks *blocks);

    /* A placement: the class of a page that the host writes, and of one that a collection copies. flashgc may ask
     * any number of times, so they change nothing. `stream` is FLASHGC_NONE if the host names none. */
    uint32_t (*host)(void *state, uint32_t page, uint32_t stream, flashgc_place old, flashgc_now now);
    uint32_t (*copy)(void *state, uint32_t page, flashgc_place from, uint32_t is_zombie, flashgc_now now);

    /* What has happened, of a placement. Any of them may be missing. */
    void (*holds)(void *state, uint32_t page, flashgc_place place, flashgc_now now); /* first contents */
    void (*wrote)(void *state, uint32_t page, flashgc_place from, flashgc_place to, flashgc_now now);
    void (*trimmed)(void *state, uint32_t page, flashgc_place from, flashgc_now now);
    void (*copied)(void *state, uint32_t page, flashgc_place from, flashgc_place to, flashgc_now now);
    void (*opened)(void *state, flashgc_place place, flashgc_now now);
    void (*collected)(void *state, const flashgc_collected *block, flashgc_now now);
} flashgc_scheme;

#ifdef __cplusplus
}
#endif

#endif
