// A test is a function registered with TEST; CHECK counts and reports; the process fails if any check does.
#pragma once
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

struct Tests {
  struct Case {
    const char* name;
    void (*body)();
  };
  static std::vector<Case>& cases() {
    static std::vector<Case> all;
    return all;
  }
  static int& checks() {
    static int n = 0;
    return n;
  }
  static int& failures() {
    static int n = 0;
    return n;
  }
  static bool add(const char* name, void (*body)()) {
    cases().push_back({name, body});
    return true;
  }
};

#define TEST(name)                                             \
  static void name();                                          \
  static const bool name##_added = Tests::add(#name, name);    \
  static void name()

#define CHECK(condition)                                                              \
  do {                                                                                \
    ++Tests::checks();                                                                \
    if (!(condition)) {                                                               \
      ++Tests::failures();                                                            \
      std::printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);             \
    }                                                                                 \
  } while (0)

#define CHECK_THROWS(expression, Type)                                                          \
  do {                                                                                          \
    ++Tests::checks();                                                                          \
    bool thrown = false;                                                                        \
    try {                                                                                       \
      expression;                                                                               \
    } catch (const Type&) {                                                                     \
      thrown = true;                                                                            \
    }                                                                                           \
    if (!thrown) {                                                                              \
      ++Tests::failures();                                                                      \
      std::printf("%s:%d: did not throw %s: %s\n", __FILE__, __LINE__, #Type, #expression);     \
    }                                                                                           \
  } while (0)
