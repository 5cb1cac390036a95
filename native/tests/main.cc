#include <cstring>
#include <exception>

#include "check.hh"

// native_tests [NAME]: runs all cases, or those whose name contains NAME.
int main(int argc, char** argv) {
  int run = 0, failed = 0;
  for (const auto& test : Tests::cases()) {
    if (argc > 1 && !std::strstr(test.name, argv[1])) continue;
    const int before = Tests::failures();
    try {
      test.body();
    } catch (const std::exception& e) {
      ++Tests::failures();
      std::printf("%s: unexpected exception: %s\n", test.name, e.what());
    }
    ++run;
    if (Tests::failures() != before) ++failed;
    std::printf("%s %s\n", Tests::failures() == before ? "ok  " : "FAIL", test.name);
  }
  std::printf("%d passed, %d failed\n", run - failed, failed);
  return failed || !run ? 1 : 0;
}
