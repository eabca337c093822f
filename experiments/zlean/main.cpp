// ZLeanStore's simulated drive under the writes of a trace, built around its headers by compare.py.
//
//   simulator UNITS PAGES LOGICAL RULE BEGIN < TRACE.csv
//
// The trace (time,op,byte,size,...; writes of a page of 4 KiB) follows a sequential fill. Prints the
// programs from write BEGIN of the trace on.
#include <cassert>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

using namespace std;

#include "shared/Exceptions.hpp"
#define Ensure ensure  // A name that this header does not have.
#include "storage/space/sim/Greedy.hpp"
#include "storage/space/sim/TwoR.hpp"

using namespace leanstore::storage::space;

int main(int, char** argv) {
   const uint64_t units = strtoull(argv[1], nullptr, 10), pages = strtoull(argv[2], nullptr, 10);
   const uint64_t logical = strtoull(argv[3], nullptr, 10), begin = strtoull(argv[5], nullptr, 10);
   const string rule = argv[4];
   constexpr uint64_t page = 4096;
   // Half a page more, so that the rounded product is not a page short.
   SSD ssd(units * pages * page, pages * page, page, (logical + 0.5) / double(units * pages));
   ensure(ssd.logicalPages == logical);
   unique_ptr<GCBase> gc;
   if (rule.starts_with("2r-")) gc = make_unique<TwoR>(ssd, rule);
   else if (rule == "greedy-s2r") gc = make_unique<GreedyGC>(ssd, 0, true);
   else if (rule.starts_with("greedy-k")) gc = make_unique<GreedyGC>(ssd, stoi(rule.substr(8)));
   else gc = make_unique<GreedyGC>(ssd);
   for (uint64_t number = 0; number < logical; number++) gc->writePage(number);
   char line[128], op;
   unsigned long long byte;
   uint64_t writes = 0, before = 0;
   while (fgets(line, sizeof line, stdin)) {
      if (sscanf(line, "%*[^,],%c,%llu", &op, &byte) != 2) continue;  // The heading.
      if (writes++ == begin) before = ssd.physWrites();
      gc->writePage(byte / page);
   }
   printf("programs %lu\n", ssd.physWrites() - before);
}
