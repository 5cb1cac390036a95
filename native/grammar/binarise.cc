#include <algorithm>
#include <string>

#include "grammar/trees.hh"

namespace loglinear::grammar {
namespace {

std::size_t at(std::int64_t v) { return static_cast<std::size_t>(v); }

class Binariser {
 public:
  Binariser(const Trees& trees, Strings names, const Binarisation& how)
      : trees_(trees), names_(names), how_(how) {}

  BinaryTrees run() {
    for (std::size_t t = 0; t < trees_.n_trees(); ++t) {
      begin_node("r", -1);
      constituent(trees_.tree_ptr[t]);
      end_node();
      out_.tree_ptr.push_back(static_cast<std::int64_t>(out_.symbol.size()));
    }
    out_.symbols = std::move(symbols_).take();
    return std::move(out_);
  }

 private:
  const Trees& trees_;
  Strings names_;
  const Binarisation& how_;
  BinaryTrees out_;
  Interner symbols_;
  std::vector<std::size_t> open_;         // nodes of the output that have not ended
  std::vector<std::int64_t> ancestors_;   // nodes of the input above the present one

  std::string_view name(std::int64_t v) const { return names_[at(trees_.label[at(v)])]; }

  void begin_node(std::string_view symbol, std::int32_t word) {
    open_.push_back(out_.symbol.size());
    out_.symbol.push_back(symbols_.intern(symbol));
    out_.word.push_back(word);
    out_.size.push_back(0);
  }
  void end_node() {
    out_.size[open_.back()] = static_cast<std::int32_t>(out_.symbol.size() - open_.back());
    open_.pop_back();
  }

  // The names of the ancestors that a symbol remembers; `above` of them count.
  std::string context(std::size_t above) const {
    std::string s;
    for (std::int64_t i = 1; i < how_.vertical && above > 0; ++i) s += '^', s += name(ancestors_[--above]);
    return s;
  }

  std::string head(std::int64_t v) const {
    return how_.head.empty() ? std::string() : "@" + std::string(names_[at(how_.head[at(v)])]);
  }

  void constituent(std::int64_t v) {
    const std::size_t above = ancestors_.size();
    std::int64_t bottom = v;  // the first node below with a word or several children
    while (trees_.word[at(bottom)] < 0 && trees_.size[at(bottom + 1)] == trees_.size[at(bottom)] - 1) {
      ancestors_.push_back(bottom);
      ++bottom;
    }
    const bool is_tag = trees_.word[at(bottom)] >= 0;
    const bool has_top = bottom > v || !is_tag;
    if (bottom > v) {
      const bool doubled = bottom == v + 1 && !is_tag && trees_.label[at(v)] == trees_.label[at(bottom)];
      std::string top(1, doubled ? 'q' : 'p');
      for (std::int64_t c = v; c < bottom; ++c) (top += c > v ? "+" : "") += name(c);
      begin_node(top + context(above) + head(v), -1);
    } else if (has_top) {
      begin_node("p" + std::string(name(v)) + context(above) + head(v), -1);
    }
    if (is_tag) {
      const std::string tag = "t" + std::string(name(bottom));
      begin_node(how_.annotate_tags ? tag + context(ancestors_.size()) : tag, trees_.word[at(bottom)]);
      end_node();
    } else {
      branches(bottom);
    }
    if (has_top) end_node();
    ancestors_.resize(above);
  }

  void branches(std::int64_t v) {
    const std::string annotation = context(ancestors_.size()) + head(v);
    std::vector<std::int64_t> children;
    for (std::int64_t c = v + 1; c < trees_.next_sibling(v); c = trees_.next_sibling(c)) children.push_back(c);
    begin_node("b" + std::string(name(v)) + annotation, -1);
    ancestors_.push_back(v);
    const std::size_t n = children.size();
    // The name of the node over what remains after `done` children, counted from the side where binarisation begins.
    const auto rest = [&](std::size_t done) {
      std::string s = "i" + std::string(name(v)) + "|";
      const std::size_t known = how_.horizontal < 0 ? done : std::min(done, at(how_.horizontal));
      for (std::size_t i = done - known; i < done; ++i) {
        if (i > done - known) s += '~';
        s += name(how_.right ? children[i] : children[n - 1 - i]);
      }
      return s + annotation;
    };
    if (how_.right) {
      for (std::size_t i = 0; i < n; ++i) {
        if (i > 0 && i + 1 < n) begin_node(rest(i), -1);
        constituent(children[i]);
      }
      for (std::size_t i = 1; i + 1 < n; ++i) end_node();
    } else {
      for (std::size_t done = 1; done + 1 < n; ++done) begin_node(rest(done), -1);
      for (std::size_t i = 0; i < n; ++i) {
        constituent(children[i]);
        if (i > 0 && i + 1 < n) end_node();
      }
    }
    ancestors_.pop_back();
    end_node();
  }
};

}  // namespace

BinaryTrees binarise(const Trees& trees, Strings names, const Binarisation& how) {
  names.check();
  require(names.size() == trees.n_labels, "binarise: one name is needed per label");
  require(how.vertical >= 1 && how.horizontal >= -1, "binarise: vertical must be at least 1, horizontal at least -1");
  require(how.head.empty() || how.head.size() == trees.n_nodes(), "binarise: one head is needed per node");
  for (const std::int32_t h : how.head) require(h >= 0 && at(h) < names.size(), "binarise: a head has an unknown label");
  return Binariser(trees, names, how).run();
}

}  // namespace loglinear::grammar
