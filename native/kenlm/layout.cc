#include "kenlm/layout.hh"

#include <algorithm>
#include <cmath>
#include <limits>

#include "util/errors.hh"

namespace loglinear::kenlm {
namespace {

constexpr char kFamily[] = "mmap lm http://kheafield.com/code";
constexpr char kMagic[] = "mmap lm http://kheafield.com/code format version 5\n";
constexpr std::size_t kTestsAt = 56, kFixedAt = 88, kCountsAt = 108;
constexpr std::uint64_t kMostCount = std::uint64_t{1} << 44;  // sums and products of sizes stay far below 2^64
constexpr char kQuantisedVersion = 2;

[[noreturn]] void refuse(const std::string& what) { throw InvalidInput("KenLM binary file: " + what); }

std::uint64_t aligned(std::uint64_t n) { return (n + 7) / 8 * 8; }
std::uint64_t header_size(std::size_t order) { return aligned(kCountsAt + 8 * order); }

// What follows the first line: numbers whose bytes tell the machine that wrote the file.
std::array<std::uint8_t, kFixedAt - kTestsAt> test_values() {
  std::array<std::uint8_t, kFixedAt - kTestsAt> bytes{};
  const float floats[3] = {0.0f, 1.0f, -0.5f};
  const std::uint32_t words[3] = {1, 0xFFFFFFFFu, 0};
  const std::uint64_t one = 1;
  std::memcpy(bytes.data(), floats, 12);
  std::memcpy(bytes.data() + 12, words, 12);
  std::memcpy(bytes.data() + 24, &one, 8);
  return bytes;
}

std::uint64_t slots_of(std::uint64_t entries, float multiplier) {
  const float slots = multiplier * static_cast<float>(entries);
  if (!(slots < 0x1p50f)) refuse("a table of impossible size; fetch the file again");
  return std::max(entries + 1, static_cast<std::uint64_t>(slots));
}

// How many high bits of positions go to the table: what makes table and records smallest.
unsigned moved_bits(std::uint64_t n_records, std::uint64_t largest, unsigned most) {
  const unsigned needed = bits_for(largest);
  unsigned best = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (unsigned moved = 0; moved <= std::min(needed, most); ++moved) {
    const auto table = static_cast<std::int64_t>((moved == 0 ? 0 : largest >> (needed - moved)) * 64);
    const std::int64_t change = table - static_cast<std::int64_t>(n_records) * static_cast<std::int64_t>(moved);
    if (change < least) least = change, best = moved;
  }
  return best;
}

void place_probing(std::span<const std::uint8_t> file, float multiplier, std::uint64_t at, Layout& out) {
  if (at + 8 > file.size()) refuse("it ends inside the vocabulary; fetch it again");
  if (load<std::uint32_t>(&file[at]) != 0) refuse("a vocabulary of an unknown version");
  out.n_words = load<std::uint32_t>(&file[at + 4]);
  if (out.n_words == 0 || out.n_words > out.counts[0] + 1) refuse("more words than unigrams; fetch it again");
  out.vocabulary_at = at + 8;
  out.vocabulary_slots = slots_of(out.counts[0], multiplier);
  out.unigrams_at = out.vocabulary_at + 12 * out.vocabulary_slots;
  at = out.unigrams_at + (out.counts[0] + 1) * out.unigram_size();
  for (std::size_t n = 2; n <= out.order; ++n) {
    out.tables.push_back({at, slots_of(out.counts[n - 1], multiplier)});
    at += out.tables.back().slots * out.slot_size(n);
  }
  out.words_at = at;
}

// `array_bits` is read from where the first order with children begins, which other settings decide.
template <class ArrayBits>
void place_trie(std::uint64_t at, Layout& out, ArrayBits array_bits) {
  const auto tables = [&](unsigned bits) { return std::uint64_t{4} << bits; };
  if (out.is_quantised()) {
    at += 8;
    for (std::size_t n = 2; n <= out.order; ++n) {
      out.probability_at.push_back(at);
      at += tables(out.probability_bits);
      out.backoff_at.push_back(at);
      if (n < out.order) at += tables(out.backoff_bits);
    }
  }
  out.unigrams_at = at;
  at += (out.counts[0] + 2) * out.unigram_size();
  const unsigned most_moved = out.is_array() && out.order > 2 ? array_bits(at) : 0;
  for (std::size_t n = 2; n <= out.order; ++n) {
    PackedOrder p;
    p.count = out.counts[n - 1];
    p.word_bits = bits_for(out.counts[0]);
    if (n < out.order) {
      const std::uint64_t largest = out.counts[n];
      const unsigned moved = out.is_array() ? moved_bits(p.count + 1, largest, most_moved) : 0;
      p.value_bits = out.is_quantised() ? out.probability_bits + out.backoff_bits : 63;
      p.next_bits = bits_for(largest) - moved;
      if (out.is_array()) {
        p.changes_at = aligned(at) + 8;
        p.n_changes = (moved == 0 ? 0 : largest >> p.next_bits) + 1;
        at += 8 * (1 + p.n_changes) + 7;
      }
    } else {
      p.value_bits = out.is_quantised() ? out.probability_bits : 31;
    }
    p.at = at;
    at += ((1 + p.count) * p.bits() + 7) / 8 + 8;
    out.packed.push_back(p);
  }
  out.words_at = at;
}

void place_trie_of(std::span<const std::uint8_t> file, std::uint64_t at, Layout& out) {
  if (at + 8 > file.size()) refuse("it ends inside the vocabulary; fetch it again");
  const auto n = load<std::uint64_t>(&file[at]);
  if (n > out.counts[0] || n >= 0xFFFFFFFFu) refuse("more words than unigrams; fetch it again");
  out.n_words = static_cast<std::uint32_t>(n + 1);
  out.vocabulary_at = at + 8;
  out.vocabulary_slots = n;
  at += 8 + 8 * out.counts[0];
  if (out.is_quantised()) {
    if (at + 3 > file.size()) refuse("it ends before its tables of values; fetch it again");
    if (file[at] != kQuantisedVersion) refuse("quantised values of an unknown version");
    out.probability_bits = file[at + 1], out.backoff_bits = file[at + 2];
    if (out.probability_bits < 1 || out.probability_bits > 25 || out.backoff_bits < 1 || out.backoff_bits > 25)
      refuse("values of " + std::to_string(out.probability_bits) + " and " + std::to_string(out.backoff_bits) +
             " bits; expected 1 to 25");
  }
  place_trie(at, out, [&](std::uint64_t from) -> unsigned {
    if (from + 2 > file.size()) refuse("it ends before its n-grams; fetch it again");
    if (file[from] != 0) refuse("array compression of an unknown version");
    return file[from + 1];
  });
}

}  // namespace

unsigned bits_for(std::uint64_t largest) { return static_cast<unsigned>(std::bit_width(largest)); }

std::uint64_t hash_word(const char* data, std::size_t size) {
  constexpr std::uint64_t kMultiplier = 0xC6A4A7935BD1E995u;
  constexpr int kShift = 47;
  std::uint64_t h = size * kMultiplier;
  const auto* p = reinterpret_cast<const std::uint8_t*>(data);
  for (; size >= 8; p += 8, size -= 8) {
    std::uint64_t k = load<std::uint64_t>(p) * kMultiplier;
    k = (k ^ (k >> kShift)) * kMultiplier;
    h = (h ^ k) * kMultiplier;
  }
  if (size > 0) {
    std::uint64_t rest = 0;
    std::memcpy(&rest, p, size);
    h = (h ^ rest) * kMultiplier;
  }
  h = (h ^ (h >> kShift)) * kMultiplier;
  return h ^ (h >> kShift);
}

bool is_binary(std::span<const std::uint8_t> file) {
  return file.size() >= sizeof(kFamily) - 1 && std::memcmp(file.data(), kFamily, sizeof(kFamily) - 1) == 0;
}

Layout read_layout(std::span<const std::uint8_t> file) {
  if (!is_binary(file)) refuse("it does not begin with KenLM's line");
  if (file.size() < kCountsAt || std::memcmp(file.data(), kMagic, sizeof(kMagic)) != 0)
    refuse("its building did not finish, or it is of another version than 5; build it again from the ARPA file");
  const auto tests = test_values();
  if (!std::equal(tests.begin(), tests.end(), file.begin() + kTestsAt))
    refuse("it was built on a machine of another kind; build it again from the ARPA file");
  Layout out;
  out.order = file[kFixedAt];
  const auto multiplier = load<float>(&file[kFixedAt + 4]);
  const auto kind = load<std::uint32_t>(&file[kFixedAt + 8]);
  out.has_words = file[kFixedAt + 12] != 0;
  const auto version = load<std::uint32_t>(&file[kFixedAt + 16]);
  if (out.order < 2 || out.order > kMostOrder)
    refuse("its order is " + std::to_string(out.order) + "; expected 2 to " + std::to_string(kMostOrder));
  if (kind > 5) refuse("a kind of model that is not known: " + std::to_string(kind));
  out.kind = static_cast<Kind>(kind);
  if (version != (out.is_probing() ? 0u : 1u)) refuse("n-grams of an unknown version; build it again");
  if (!(multiplier >= 1.0f && multiplier < 1e6f)) refuse("tables of an impossible size; fetch it again");
  if (file.size() < header_size(out.order)) refuse("it ends inside the header; fetch it again");
  for (std::size_t n = 0; n < out.order; ++n) {
    out.counts.push_back(load<std::uint64_t>(&file[kCountsAt + 8 * n]));
    if (out.counts.back() >= kMostCount) refuse("an impossible number of n-grams; fetch it again");
  }
  if (out.counts[0] == 0 || out.counts[0] >= 0xFFFFFFFEu) refuse("an impossible number of words; fetch it again");
  if (out.is_probing()) place_probing(file, multiplier, header_size(out.order), out);
  else place_trie_of(file, header_size(out.order), out);
  if (out.words_at > file.size())
    refuse("it is truncated: its header promises at least " + std::to_string(out.words_at) + " bytes and there are " +
           std::to_string(file.size()) + "; fetch it again");
  if (out.has_words && (file.size() - out.words_at < 6 || std::memcmp(&file[out.words_at], "<unk>", 6) != 0))
    refuse("its words are not where they should be; build it again");
  return out;
}

Layout trie_layout(std::span<const std::uint64_t> counts, TrieSettings settings) {
  Layout out;
  const bool quantised = settings.probability_bits > 0, array = settings.array_bits > 0;
  out.kind = static_cast<Kind>(2 + (quantised ? 1 : 0) + (array ? 2 : 0));
  out.order = counts.size();
  if (out.order < 2 || out.order > kMostOrder)
    throw InvalidInput("a KenLM binary file has an order between 2 and " + std::to_string(kMostOrder) + ", not " +
                       std::to_string(out.order));
  if (quantised && (settings.probability_bits > 25 || settings.backoff_bits < 2 || settings.backoff_bits > 25))
    throw InvalidInput("values of a KenLM binary file have at most 25 bits, and back-offs at least 2");
  out.counts.assign(counts.begin(), counts.end());
  out.has_words = true;
  out.n_words = static_cast<std::uint32_t>(counts[0]);
  out.vocabulary_at = header_size(out.order) + 8;
  out.vocabulary_slots = counts[0] - 1;
  out.probability_bits = settings.probability_bits, out.backoff_bits = settings.backoff_bits;
  place_trie(out.vocabulary_at + 8 * counts[0], out, [&](std::uint64_t) { return settings.array_bits; });
  return out;
}

std::vector<std::uint8_t> header_of(const Layout& layout) {
  std::vector<std::uint8_t> out(header_size(layout.order));
  std::memcpy(out.data(), kMagic, sizeof(kMagic));
  const auto tests = test_values();
  std::copy(tests.begin(), tests.end(), out.begin() + kTestsAt);
  out[kFixedAt] = static_cast<std::uint8_t>(layout.order);
  const float multiplier = 1.5f;  // a trie has no use for it, and readers want it above 1
  const auto kind = static_cast<std::uint32_t>(layout.kind), version = layout.is_probing() ? 0u : 1u;
  std::memcpy(&out[kFixedAt + 4], &multiplier, 4);
  std::memcpy(&out[kFixedAt + 8], &kind, 4);
  out[kFixedAt + 12] = layout.has_words;
  std::memcpy(&out[kFixedAt + 16], &version, 4);
  for (std::size_t n = 0; n < layout.order; ++n) std::memcpy(&out[kCountsAt + 8 * n], &layout.counts[n], 8);
  return out;
}

}  // namespace loglinear::kenlm
