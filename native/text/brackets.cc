#include "text/brackets.hh"

#include <algorithm>
#include <optional>
#include <string>

#include "util/errors.hh"
#include "util/lines.hh"
#include "util/utf8.hh"

namespace loglinear::text {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool ends_token(char c) { return c == '(' || c == ')' || is_space(c); }

struct Fault {
  std::string message;
  std::size_t offset;
};

// The trees of a piece of text that begins and ends outside of all brackets.
struct Piece {
  std::vector<std::int64_t> ends;  // nodes up to the end of each tree
  std::vector<std::int32_t> label, word, size;
  Interner labels, words;
  std::optional<Fault> fault;

  struct Open {
    std::int32_t node;
    bool has_label, has_word, has_children;
  };
  std::vector<Open> open;

  // Reads [begin, end) of the text; stops at the first fault.
  void read(std::span<const char> text, std::size_t begin, std::size_t end) {
    std::size_t at = begin;
    while (at < end && !fault) {
      const char c = text[at];
      if (is_space(c)) {
        ++at;
      } else if (c == '(') {
        begin_node(at++);
      } else if (c == ')') {
        end_node(at++);
      } else {
        std::size_t stop = at + 1;
        while (stop < end && !ends_token(text[stop])) ++stop;
        take({text.data() + at, stop - at}, at);
        at = stop;
      }
    }
    if (!fault && !open.empty()) fail("the tree ends before its brackets close", last_open_);
  }

 private:
  std::size_t last_open_ = 0;

  void fail(std::string message, std::size_t offset) { fault = Fault{std::move(message), offset}; }

  void begin_node(std::size_t at) {
    if (open.empty()) {
      last_open_ = at;
    } else if (open.back().has_word) {
      return fail("a word stands beside a bracket; every word needs a bracket and a tag of its own, (NN dog)", at);
    }
    if (open.size() >= kMaxDepth) return fail("brackets are nested more than 2,000 deep", at);
    if (label.size() >= 0x7FFFFFFF) return fail("more than 2,147,483,647 brackets", at);
    if (!open.empty()) {
      if (!open.back().has_label && open.size() > 1) return fail("a bracket inside of a tree has no label", at);
      open.back().has_children = true;
    }
    open.push_back({static_cast<std::int32_t>(label.size()), false, false, false});
    label.push_back(-1);
    word.push_back(-1);
    size.push_back(0);
  }

  void end_node(std::size_t at) {
    if (open.empty()) return fail("a closing bracket without an opening one", at);
    const Open node = open.back();
    if (!node.has_word && !node.has_children) {
      if (!node.has_label) return fail("an empty bracket", at);
      return fail("the bracket of " + quoted(labels.strings()[static_cast<std::size_t>(label[index(node)])]) +
                      " holds neither a word nor brackets",
                  at);
    }
    open.pop_back();
    if (!node.has_label) {
      if (!open.empty()) return fail("a bracket inside of a tree has no label", at);
      label[index(node)] = labels.intern("");
    }
    size[index(node)] = static_cast<std::int32_t>(label.size()) - node.node;
    if (open.empty()) ends.push_back(static_cast<std::int64_t>(label.size()));
  }

  void take(std::string_view token, std::size_t at) {
    if (open.empty()) return fail(quoted(token) + " stands outside of all brackets", at);
    if (!is_utf8(token)) return fail(quoted(token) + " is not valid UTF-8; name the right encoding", at);
    Open& node = open.back();
    if (!node.has_label && !node.has_children) {
      label[index(node)] = labels.intern(token);
      node.has_label = true;
    } else if (!node.has_word && !node.has_children) {
      word[index(node)] = words.intern(token);
      node.has_word = true;
    } else {
      fail(quoted(token) + " stands beside a word or brackets; every word needs a bracket and a tag of its own, (NN dog)",
           at);
    }
  }

  static std::size_t index(const Open& node) { return static_cast<std::size_t>(node.node); }
};

// Places outside of all brackets that cut the text into chunks of about `size` bytes: 0, ..., text.size().
std::vector<std::size_t> cut_trees(std::span<const char> text, std::size_t size) {
  std::vector<std::size_t> cuts{0};
  std::int64_t depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] != ')') continue;
    if (--depth < 0) break;  // the last chunk has the fault
    if (depth == 0 && at + 1 - cuts.back() >= size) cuts.push_back(at + 1);
  }
  if (cuts.back() != text.size()) cuts.push_back(text.size());
  return cuts;
}

std::vector<std::int32_t> merge(Interner& all, const PackedStrings& strings) {
  std::vector<std::int32_t> number(strings.size());
  for (std::size_t i = 0; i < number.size(); ++i) number[i] = all.intern(strings[i]);
  return number;
}

void check_token(std::string_view token, const char* what) {
  if (token.empty()) throw InvalidInput(std::string("a ") + what + " is empty: brackets could not be read back");
  if (std::any_of(token.begin(), token.end(), ends_token))
    throw InvalidInput(std::string("the ") + what + " " + quoted(token) +
                       " has a bracket or a blank in it and could not be read back; write -LRB- and -RRB-");
}

}  // namespace

BracketedTrees read_brackets(ThreadPool& pool, std::span<const char> text, std::size_t chunk_bytes) {
  const std::vector<std::size_t> cuts = cut_trees(text, chunk_bytes);
  std::vector<Piece> pieces(cuts.size() - 1);
  pool.run(pieces.size(), [&](std::size_t c) { pieces[c].read(text, cuts[c], cuts[c + 1]); });
  BracketedTrees out;
  Interner labels, words;
  for (Piece& piece : pieces) {
    if (piece.fault) {
      const std::size_t number = out.tree_ptr.size() + piece.ends.size();
      const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(piece.fault->offset), '\n');
      throw ParseError("tree " + std::to_string(number) + ": " + piece.fault->message, line,
                       static_cast<std::int64_t>(piece.fault->offset));
    }
    const auto base = static_cast<std::int64_t>(out.label.size());
    const auto label = merge(labels, piece.labels.strings()), word = merge(words, piece.words.strings());
    for (const std::int64_t end : piece.ends) out.tree_ptr.push_back(base + end);
    for (const std::int32_t id : piece.label) out.label.push_back(label[static_cast<std::size_t>(id)]);
    for (const std::int32_t id : piece.word) out.word.push_back(id < 0 ? -1 : word[static_cast<std::size_t>(id)]);
    out.size.insert(out.size.end(), piece.size.begin(), piece.size.end());
    piece = Piece{};
  }
  out.labels = std::move(labels).take();
  out.words = std::move(words).take();
  return out;
}

std::vector<char> write_brackets(ThreadPool& pool, std::span<const std::int64_t> tree_ptr,
                                 std::span<const std::int32_t> label, std::span<const std::int32_t> word,
                                 std::span<const std::int32_t> size, Strings labels, Strings words) {
  labels.check();
  words.check();
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (!labels[i].empty()) check_token(labels[i], "label");
  for (std::size_t i = 0; i < words.size(); ++i) check_token(words[i], "word");
  constexpr std::size_t kTrees = 256;
  const std::size_t n = tree_ptr.size() - 1;
  std::vector<std::vector<char>> pieces(chunk_count(n, kTrees));
  pool.run(pieces.size(), [&](std::size_t c) {
    std::vector<char>& out = pieces[c];
    std::vector<std::int64_t> ends;  // of the open nodes
    const auto put = [&](std::string_view s) { out.insert(out.end(), s.begin(), s.end()); };
    const Range range = chunk_range(n, kTrees, c);
    for (std::size_t t = range.begin; t < range.end; ++t) {
      for (std::int64_t v = tree_ptr[t]; v < tree_ptr[t + 1]; ++v) {
        const auto i = static_cast<std::size_t>(v);
        const std::string_view name = labels[static_cast<std::size_t>(label[i])];
        if (name.empty() && v != tree_ptr[t])
          throw InvalidInput("tree " + std::to_string(t + 1) + ": a bracket inside of it has no label");
        if (v != tree_ptr[t]) out.push_back(' ');
        out.push_back('(');
        put(name);
        if (word[i] >= 0) {
          out.push_back(' ');
          put(words[static_cast<std::size_t>(word[i])]);
        }
        ends.push_back(v + size[i]);
        while (!ends.empty() && ends.back() == v + 1) ends.pop_back(), out.push_back(')');
      }
      out.push_back('\n');
    }
  });
  std::vector<char> all;
  for (const auto& piece : pieces) all.insert(all.end(), piece.begin(), piece.end());
  return all;
}

}  // namespace loglinear::text
