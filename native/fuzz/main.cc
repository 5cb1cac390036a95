// fuzz --list                        names of the targets
// fuzz --target=NAME --seeds=DIR     writes the target's seeds, and its words as a dictionary, DIR.dict
// fuzz --target=NAME [...]           runs it: by libFuzzer, whose options these are (FILES are run and nothing else);
//                                    without libFuzzer [-seed=N] [-max_total_time=SECONDS] [FILES]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "fuzz/mutate.hh"

namespace loglinear::fuzz {
namespace {

const Target* chosen = nullptr;

void write_seeds(const std::string& folder) {
  int n = 0;
  for (const Bytes& seed : chosen->seeds()) {
    std::ofstream file(folder + "/seed" + std::to_string(n++), std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
  }
  std::ofstream words(folder + ".dict");
  for (const std::string& word : chosen->words) {
    words << '"';
    for (const char c : word) {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02X", static_cast<unsigned char>(c));
      words << code;
    }
    words << "\"\n";
  }
}

// Acts on the options that begin with --, which libFuzzer ignores.
void read_options(int argc, char** argv) {
  const char* seeds = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--list")) {
      for (const Target& t : targets()) std::printf("%s\n", t.name.c_str());
      std::exit(0);
    }
    if (!std::strncmp(argv[i], "--target=", 9))
      for (const Target& t : targets())
        if (t.name == argv[i] + 9) chosen = &t;
    if (!std::strncmp(argv[i], "--seeds=", 8)) seeds = argv[i] + 8;
  }
  if (!chosen) std::fprintf(stderr, "fuzz: --target=NAME is needed; --list gives the names\n"), std::exit(2);
  if (seeds) write_seeds(seeds), std::exit(0);
}

}  // namespace
}  // namespace loglinear::fuzz

using namespace loglinear::fuzz;

#ifdef LOGLINEAR_LIBFUZZER

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  read_options(*argc, *argv);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->run({data, size});
  return 0;
}

#else

int main(int argc, char** argv) {
  read_options(argc, argv);
  unsigned seed = 0;
  double seconds = 10;
  bool only_files = false;
  for (int i = 1; i < argc; ++i) {
    if (!std::strncmp(argv[i], "-seed=", 6)) seed = static_cast<unsigned>(std::atoi(argv[i] + 6));
    if (!std::strncmp(argv[i], "-max_total_time=", 16)) seconds = std::atof(argv[i] + 16);
    if (argv[i][0] == '-') continue;
    std::ifstream file(argv[i], std::ios::binary);
    chosen->run(Bytes{std::istreambuf_iterator<char>(file), {}});
    only_files = true;
  }
  if (only_files) return 0;
  Mutator mutator(*chosen, seed);
  for (const Bytes& bytes : mutator.corpus()) chosen->run(bytes);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  long n = 0;
  for (; std::chrono::steady_clock::now() < end; ++n) {
    const Bytes bytes = mutator.next();
    std::ofstream("fuzz-last-input", std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    chosen->run(bytes);
  }
  std::remove("fuzz-last-input");
  std::printf("stat::number_of_executed_units: %ld\n", n);
}

#endif
