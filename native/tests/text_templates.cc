// Wapiti's expressions and the extraction of attributes, without Python.
#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "check.hh"
#include "text/templates.hh"
#include "text/wapiti_regex.hh"
#include "util/errors.hh"

namespace loglinear::tests::text_templates {

using namespace loglinear::text;
using namespace loglinear;

namespace {

// What the expression matches; "-" where it does not.
std::string match(const std::string& pattern, const std::string& text) {
  WapitiRegex::Scratch scratch;
  const auto m = WapitiRegex(pattern).search(text, {}, scratch);
  return m.found ? text.substr(m.begin, m.end - m.begin) : "-";
}

struct Tokens {
  std::vector<std::int64_t> ptr{0};
  std::vector<std::int32_t> ids[2];
  std::vector<std::int32_t> maps[2];

  ViewedTokens<std::int32_t> view() const { return {ptr, {ids[0], ids[1]}, {maps[0], maps[1]}}; }
};

Tokens random_tokens(std::mt19937& random, int n_sequences, int n_values) {
  Tokens tokens;
  for (int s = 0; s < n_sequences; ++s) {
    for (std::size_t n = random() % 8; n; --n)
      for (auto& ids : tokens.ids) ids.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(n_values)));
    tokens.ptr.push_back(static_cast<std::int64_t>(tokens.ids[0].size()));
  }
  for (auto& map : tokens.maps)
    for (int v = 0; v < n_values; ++v) map.push_back(v);
  return tokens;
}

const std::vector<std::int64_t> kPtr{0, 1, 3, 6, 6};
const std::vector<Macro> kMacros{{0, 0, false}, {-1, 0, false}, {0, 1, false}, {-2, 1, false}, {1, true, true},
                                 {-1, 0, true}};

}  // namespace

TEST(wapiti_regex) {
  CHECK(match("", "abc") == "");
  CHECK(match("b", "abc") == "b");
  CHECK(match("d", "abc") == "-");
  CHECK(match("^b", "abc") == "-");
  CHECK(match("b$", "abc") == "-");
  CHECK(match("...?$", "abcdef") == "def");
  CHECK(match("^.?.?.?", "ab") == "ab");
  CHECK(match("a*", "aaa") == "");        // as few as will do
  CHECK(match("a*$", "baa") == "aa");
  CHECK(match("^a*b", "aab") == "aab");
  CHECK(match("\\d\\d*", "x12") == "1");
  CHECK(match("^\\u\\l*$", "Dog") == "Dog");
  CHECK(match("\\U", "ABc") == "c");
  CHECK(match("\\.", "a.b") == ".");
  CHECK(match("$a", "$a") == "$a");
  CHECK(match("a^", "a^") == "a^");
  CHECK(match("\\$$", "5$") == "$");
  CHECK(match(".", "\xc3\xa9") == "\xc3\xa9");
  CHECK(match("^$", "") == "");
  CHECK_THROWS(WapitiRegex("a**"), InvalidInput);
  CHECK_THROWS(WapitiRegex("^*"), InvalidInput);
  CHECK_THROWS(WapitiRegex("?"), InvalidInput);
  CHECK_THROWS(WapitiRegex("a\\"), InvalidInput);
  CHECK_THROWS(WapitiRegex(std::string(300, 'a')), InvalidInput);
  std::string hard;
  for (int i = 0; i < 60; ++i) hard += "a*";
  CHECK(match(hard + "b", std::string(2000, 'a')) == "-");  // exponential for those who backtrack
}

TEST(templates_number_by_first_occurrence) {
  std::mt19937 random(3);
  const TemplateSet set(kPtr, kMacros, 2);
  CHECK(!set.has_gaps());
  for (int round = 0; round < 20; ++round) {
    const Tokens tokens = random_tokens(random, 1 + round * 20, 5);
    ThreadPool one(1), three(3);
    const std::int64_t min_count = 1 + round % 3;
    const FittedAttributes a = fit_attributes(one, set, tokens.view(), {}, min_count);
    const FittedAttributes b = fit_attributes(three, set, tokens.view(), {}, min_count);
    CHECK(a.rows.indices == b.rows.indices);
    CHECK(a.rows.indptr == b.rows.indptr);
    CHECK(a.attributes.codes == b.attributes.codes);
    std::int32_t most = -1;
    bool ordered = true;
    for (const std::int32_t id : a.rows.indices) {
      ordered = ordered && id <= most + 1;
      most = std::max(most, id);
    }
    CHECK(ordered);
    CHECK(static_cast<std::size_t>(most + 1) == a.attributes.templates.size());
    const std::vector<std::int64_t> n_values{5, 5};
    const AttributeIndex index(set, {a.attributes.templates, a.attributes.codes}, n_values);
    const AttributeRows found = index.find(three, tokens.view());
    CHECK(found.indices == a.rows.indices);
    CHECK(found.indptr == a.rows.indptr);
  }
}

TEST(templates_with_gaps_look_at_every_row) {
  std::mt19937 random(6);
  // The token and any row before its neighbour on the left; both views of any row after it.
  const std::vector<std::int64_t> ptr{0, 3, 5};
  const std::vector<Macro> macros{{0, 0, false}, {-1, 0, false}, {kAnyBefore, 1, false}, {kAnyAfter, 0, false},
                                  {kAnyAfter, 1, false}};
  const TemplateSet set(ptr, macros, 2);
  const Tokens tokens = random_tokens(random, 80, 3);
  ThreadPool one(1), three(3);
  const FittedAttributes a = fit_attributes(one, set, tokens.view(), {}, 1);
  const FittedAttributes b = fit_attributes(three, set, tokens.view(), {}, 1);
  CHECK(a.rows.indices == b.rows.indices);
  CHECK(a.attributes.codes == b.attributes.codes);
  bool right = true;
  for (std::size_t s = 0; s + 1 < tokens.ptr.size(); ++s)
    for (std::int64_t i = tokens.ptr[s]; i < tokens.ptr[s + 1]; ++i) {
      std::int64_t at = a.rows.indptr[static_cast<std::size_t>(i)];
      const auto is = [&](std::vector<std::int32_t> key) {
        const auto id = static_cast<std::size_t>(a.rows.indices[static_cast<std::size_t>(at++)]);
        return std::equal(key.begin(), key.end(), a.attributes.codes.begin() + static_cast<std::ptrdiff_t>(3 * id));
      };
      const auto value = [&](int view, std::int64_t t) { return tokens.ids[view][static_cast<std::size_t>(t)]; };
      for (std::int64_t j = tokens.ptr[s]; j < i - 1; ++j)
        right = right && is({value(0, i), value(0, i - 1), value(1, j)});
      for (std::int64_t j = i + 1; j < tokens.ptr[s + 1]; ++j) right = right && is({value(0, j), value(1, j)});
      right = right && at == a.rows.indptr[static_cast<std::size_t>(i) + 1];
    }
  CHECK(right);
  const std::vector<std::int64_t> n_values{3, 3};
  const AttributeIndex index(set, {a.attributes.templates, a.attributes.codes}, n_values);
  CHECK(index.find(three, tokens.view()).indices == a.rows.indices);
  const std::vector<Macro> both{{kAnyBefore, 0, false}, {kAnyAfter, 0, false}};
  const std::vector<std::int64_t> whole{0, 2};
  CHECK_THROWS(TemplateSet(whole, both, 2), InvalidInput);
}

TEST(templates_known_attributes_keep_their_numbers) {
  std::mt19937 random(4);
  const TemplateSet set(kPtr, kMacros, 2);
  const Tokens first = random_tokens(random, 5, 4), second = random_tokens(random, 50, 6);
  ThreadPool pool(2);
  const FittedAttributes a = fit_attributes(pool, set, first.view(), {}, 1);
  const FittedAttributes b = fit_attributes(pool, set, second.view(), {a.attributes.templates, a.attributes.codes}, 1);
  CHECK(b.attributes.templates.size() > a.attributes.templates.size());
  CHECK(std::equal(a.attributes.codes.begin(), a.attributes.codes.end(), b.attributes.codes.begin()));
}

TEST(attributes_of_templates_without_macros_have_no_codes) {
  const std::vector<std::int64_t> ptr{0, 0}, n_values{0, 0};
  const TemplateSet set(ptr, {}, 2);
  const std::vector<std::int32_t> templates{0};
  const AttributeIndex index(set, {templates, {}}, n_values);
  ThreadPool pool(1);
  Tokens tokens;
  tokens.ptr = {0, 2};
  for (auto& ids : tokens.ids) ids = {0, 0};
  for (auto& map : tokens.maps) map = {0};
  CHECK((index.find(pool, tokens.view()).indices == std::vector<std::int32_t>{0, 0}));
}

TEST(templates_refuse_what_is_out_of_range) {
  std::mt19937 random(5);
  const TemplateSet set(kPtr, kMacros, 2);
  Tokens tokens = random_tokens(random, 9, 3);
  ThreadPool pool(1);
  tokens.ids[1][0] = 3;
  CHECK_THROWS(fit_attributes(pool, set, tokens.view(), {}, 1), InvalidInput);
  tokens.ids[1][0] = -1;
  CHECK_THROWS(fit_attributes(pool, set, tokens.view(), {}, 1), InvalidInput);
  const std::vector<std::int64_t> n_values{3, 3};
  const auto index = [&](std::vector<std::int32_t> templates, std::vector<std::int32_t> codes) {
    AttributeIndex(set, {templates, codes}, n_values);
  };
  index({0}, {2, kNoMacro, kNoMacro});
  CHECK_THROWS(index({0}, {3, kNoMacro, kNoMacro}), InvalidInput);
  CHECK_THROWS(index({0}, {-1, kNoMacro, kNoMacro}), InvalidInput);
  CHECK_THROWS(index({0}, {-9999, kNoMacro, kNoMacro}), InvalidInput);
  CHECK_THROWS(index({0}, {2, 0, kNoMacro}), InvalidInput);
  CHECK_THROWS(index({4}, {2, kNoMacro, kNoMacro}), InvalidInput);
  CHECK_THROWS(index({0}, {2}), InvalidInput);
  CHECK_THROWS(index({0, 0}, {2, kNoMacro, kNoMacro, 2, kNoMacro, kNoMacro}), InvalidInput);
  const std::vector<Macro> far{{1001, 0, false}}, foreign{{0, 2, false}}, zeroth{{0, 0, true}};
  const std::vector<std::int64_t> ptr{0, 1};
  for (const auto& macros : {far, foreign, zeroth}) CHECK_THROWS(TemplateSet(ptr, macros, 2), InvalidInput);
}

}  // namespace loglinear::tests::text_templates
