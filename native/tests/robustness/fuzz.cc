// Every fuzz target on its seeds and on a few mutations of them: what `make fuzz` does for hours.
#include <chrono>

#include "tests/check.hh"
#include "fuzz/mutate.hh"

namespace loglinear::tests::fuzz {

using namespace loglinear::fuzz;

TEST(fuzz_seeds_are_accepted) {
  for (const Target& target : targets()) {
    int refused = 0;
    for (const Bytes& seed : target.seeds()) {
      Input input(seed);
      try {
        target.use(input);
      } catch (const InvalidInput& error) {
        ++refused;
        std::printf("%s: %s\n", target.name.c_str(), error.what());
      } catch (const ParseError& error) {
        ++refused;
        std::printf("%s: %s\n", target.name.c_str(), error.what());
      }
    }
    CHECK(refused == 0);
  }
}

TEST(fuzz_targets_survive_mutations) {
  constexpr int kMutations = 400;
  for (const Target& target : targets()) {
    Mutator mutator(target, 1);
    for (int i = 0; i < kMutations; ++i) {
      const Bytes bytes = mutator.next();
      try {
        target.run(bytes);
        CHECK(true);
      } catch (const std::exception& error) {
        std::printf("%s, mutation %d: %s\n", target.name.c_str(), i, error.what());
        CHECK(false);
      }
    }
  }
}

}  // namespace loglinear::tests::fuzz
