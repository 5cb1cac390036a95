// This file is long because a step touches every part of the tree: histories, gradients, late steps and their order.
#include "stream/tree.hh"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "simd/loops.hh"
#include "util/cancellation.hh"
#include "util/errors.hh"

namespace loglinear::stream {

using trie::kNowhere;
namespace {

constexpr std::size_t kUntidy = 1024;  // new entries at which a block is put in order while many are taken in

bool all_zero(std::span<const double> x) {
  return std::all_of(x.begin(), x.end(), [](double v) { return v == 0.0; });
}

}  // namespace

// The tokens of one block in a batch, and what they give to the unigrams.
struct OnlineTree::Piece {
  std::uint32_t block = 0;
  std::span<const Token> tokens;
  double loss = 0.0, scaled = 0.0;     // sum of C(h) log r(h) - weights of the tokens' n-grams; B / r of the root
  std::vector<double> unigram_change;  // [entries of the root]
};

struct OnlineTree::Scratch {
  std::vector<std::uint32_t> path, touched;
  std::vector<double> own, through, r, b;             // [contexts]
  std::vector<double> p, d, gradient;                 // [entries]
  std::vector<double> x, mass, threshold;             // [entries]
  tree::SmallForestProx prox;

  void fit(const OnlineBlock& block) {
    const std::size_t C = block.n_contexts(), E = block.n_entries();
    if (own.size() < C)
      for (auto* a : {&own, &through, &r, &b}) a->resize(C + C / 4, 0.0);
    if (p.size() < E)
      for (auto* a : {&p, &d, &x, &mass, &threshold}) a->resize(E + E / 4);
  }
};

OnlineTree::OnlineTree(const OnlineTreeSettings& settings) : settings_(settings) {
  const auto& s = settings_;
  if (s.n_words < 1 || s.n_words >= kNowhere - 1) throw InvalidInput("online n-grams: there must be a word to predict");
  const auto sane = [](double v) { return std::isfinite(v) && v >= 0.0; };
  if (s.strengths.empty() || !std::all_of(s.strengths.begin(), s.strengths.end(), sane) || s.ridges.empty() ||
      !std::all_of(s.ridges.begin(), s.ridges.end(), sane) || !sane(s.unigram_ridge) || !sane(s.gain) ||
      !sane(s.mu) || !sane(s.lipschitz))
    throw InvalidInput("online n-grams: strengths, gain and mu must be finite numbers from 0");
  if (!(std::isfinite(s.depth_growth) && s.depth_growth > 0.0 && std::isfinite(s.ridge_growth) && s.ridge_growth > 0.0))
    throw InvalidInput("online n-grams: depth_growth must be a positive number");
  if (s.penalty == tree::SmallForestPenalty::kTreeL2 && s.collapse)
    throw InvalidInput("online n-grams: the tree-l2 norm parts n-grams that always occur together; do not collapse");
  blocks_.resize(std::size_t{s.n_words} + 1);
  unigram_w_.assign(s.n_words, 0.0);
  unigram_z_.assign(s.n_words, 0.0);
  unigram_count_.assign(s.n_words, 0);
}

OnlineTree::~OnlineTree() = default;

std::size_t OnlineTree::n_entries() const {
  std::size_t n = settings_.n_words;
  for (const auto& b : blocks_) n += b.n_entries();
  return n;
}

std::size_t OnlineTree::n_contexts() const {
  std::size_t n = 1;
  for (const auto& b : blocks_) n += b.n_contexts();
  return n;
}

std::size_t OnlineTree::n_bytes() const {
  std::size_t n = 4 * (text_.size() + starts_.size()) + 20 * unigram_w_.size() + sizeof(OnlineBlock) * blocks_.size();
  for (const auto& b : blocks_) n += 28 * b.n_contexts() + 28 * b.n_entries();
  return n;
}

// ---- taking text in -------------------------------------------------------------------------------------------------
void OnlineTree::check(std::span<const std::uint32_t> words, std::span<const std::int64_t> ptr) const {
  if (ptr.empty() || ptr.front() != 0 || ptr.back() != static_cast<std::int64_t>(words.size()))
    throw InvalidInput("online n-grams: sentences must begin at 0 and end with the words");
  for (std::size_t i = 0; i + 1 < ptr.size(); ++i)
    if (ptr[i + 1] < ptr[i])
      throw InvalidInput("online n-grams: sentence " + std::to_string(i) + " ends before it begins");
  for (const std::uint32_t w : words)
    if (w >= settings_.n_words || w == 0)
      throw InvalidInput("online n-grams: word " + std::to_string(w) + " is not one of the 1 to " +
                         std::to_string(settings_.n_words - 1) + " that sentences are made of");
  if (text_.size() + words.size() + ptr.size() >= kNowhere - 1)
    throw InvalidInput("online n-grams: more text than 4294967293 tokens");
}

// The numbers of the new sentences.
std::vector<std::int64_t> OnlineTree::append(std::span<const std::uint32_t> words, std::span<const std::int64_t> ptr) {
  check(words, ptr);
  std::int64_t longest = 0;
  for (std::size_t i = 0; i + 1 < ptr.size(); ++i) longest = std::max(longest, ptr[i + 1] - ptr[i] + 1);
  if (settings_.order > 0) longest = std::min<std::int64_t>(longest, settings_.order - 1);
  for (std::size_t d = ridge_.size(); static_cast<std::int64_t>(d) < longest; ++d) {
    const double depth = static_cast<double>(d);
    const double growth = std::pow(settings_.depth_growth, depth), ridge = std::pow(settings_.ridge_growth, depth);
    if (!std::isnormal(growth) || !std::isnormal(ridge))
      throw InvalidInput("online n-grams: depth_growth leaves the range of numbers at depth " + std::to_string(d) +
                         ": take one nearer to 1, or a lower order");
    strength_.push_back(strength_.back() + settings_.strengths[std::min(d, settings_.strengths.size() - 1)] * growth);
    ridge_.push_back(settings_.ridges[std::min(d, settings_.ridges.size() - 1)] * ridge);
  }
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i + 1 < ptr.size(); ++i) {
    numbers.push_back(static_cast<std::int64_t>(starts_.size()));
    text_.push_back(settings_.n_words);
    starts_.push_back(static_cast<std::uint32_t>(text_.size()));
    text_.insert(text_.end(), words.begin() + ptr[i], words.begin() + ptr[i + 1]);
  }
  n_tokens_ += words.size() + ptr.size() - 1;
  return numbers;
}

std::vector<OnlineTree::Token> OnlineTree::tokens_of(std::span<const std::int64_t> sentences) const {
  std::vector<Token> tokens;
  for (const std::int64_t i : sentences) {
    if (i < 0 || static_cast<std::size_t>(i) >= starts_.size())
      throw InvalidInput("online n-grams: there is no sentence " + std::to_string(i));
    const auto s = static_cast<std::size_t>(i);
    const std::uint32_t begin = starts_[s];
    const auto end = static_cast<std::uint32_t>(s + 1 < starts_.size() ? starts_[s + 1] - 1 : text_.size());
    for (std::uint32_t at = begin; at <= end; ++at) {
      std::uint32_t limit = at - begin + 1;
      if (settings_.order > 0) limit = std::min(limit, settings_.order - 1);
      tokens.push_back({text_[at - 1], at, at < end ? text_[at] : 0, limit});
    }
  }
  return tokens;
}

std::vector<OnlineTree::Piece> OnlineTree::pieces_of(std::vector<Token>& tokens) const {
  std::vector<Piece> pieces;
  if (settings_.order == 1) return pieces;
  std::stable_sort(tokens.begin(), tokens.end(), [](const Token& a, const Token& b) { return a.block < b.block; });
  for (std::size_t i = 0, j = 0; i < tokens.size(); i = j) {
    while (j < tokens.size() && tokens[j].block == tokens[i].block) ++j;
    Piece piece;
    piece.block = tokens[i].block;
    piece.tokens = std::span<const Token>(tokens).subspan(i, j - i);
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

// The largest blocks first, so that threads end together; each piece keeps its own sums.
void OnlineTree::for_pieces(ThreadPool& pool, std::vector<Piece>& pieces,
                            const std::function<void(Piece&, Scratch&)>& task) const {
  std::vector<std::uint32_t> order(pieces.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return blocks_[pieces[a].block].n_entries() > blocks_[pieces[b].block].n_entries();
  });
  pool.run(order.size(), [&](std::size_t i) {
    auto scratch = scratch_.take([] { return std::make_unique<Scratch>(); });
    task(pieces[order[i]], *scratch);
    scratch_.give(std::move(scratch));
  });
}

void OnlineTree::insert(OnlineBlock& block, std::span<const Token> tokens) const {
  OnlineGrowth growth(block, text_, settings_.collapse);
  std::size_t tidy = block.n_entries();
  for (const Token& t : tokens) {
    growth.insert(t.at, t.word, t.limit);
    if (block.n_entries() > tidy + tidy / 2 + kUntidy) {
      growth.finish();
      tidy = block.n_entries();
    }
  }
  growth.finish();
}

void OnlineTree::count_unigrams(std::span<const Token> tokens) {
  for (const Token& t : tokens) {
    ++unigram_count_[t.word];
    history_words_ += t.limit;
  }
}

void OnlineTree::extend(ThreadPool& pool, std::span<const std::uint32_t> words, std::span<const std::int64_t> ptr) {
  std::vector<Token> tokens = tokens_of(append(words, ptr));
  count_unigrams(tokens);
  std::vector<Piece> pieces = pieces_of(tokens);
  for_pieces(pool, pieces, [&](Piece& piece, Scratch& scratch) {
    replay(blocks_[piece.block], n_steps(), scratch);
    insert(blocks_[piece.block], piece.tokens);
  });
}

// ---- gradients ------------------------------------------------------------------------------------------------------
namespace {

// sum of p(w | parent of c) over the words w without an entry in c: positive terms alone.
double missing_mass(const OnlineBlock& b, std::uint32_t c, std::span<const double> unigrams, std::span<const double> p,
                    std::span<const double> r) {
  std::vector<std::uint32_t> chain;
  for (std::uint32_t a = c; a != kNowhere; a = b.context_parent[a]) chain.push_back(a);
  double mass = 0.0;
  for (std::size_t i = chain.size(); i-- > 0;) {
    const std::uint32_t here = chain[i], above = b.context_parent[here];
    std::uint32_t e = b.context_entry[here];
    const std::uint32_t end = b.context_entry[here + 1];
    if (above == kNowhere) {
      for (std::uint32_t w = 0; w < unigrams.size(); ++w)
        if (e < end && b.entry_word[e] == w) ++e;
        else mass += unigrams[w];
      continue;
    }
    mass /= r[above];
    for (std::uint32_t up = b.context_entry[above]; up < b.context_entry[above + 1]; ++up)
      if (e < end && b.entry_parent[e] == up) ++e;
      else mass += p[up];
  }
  return mass;
}

}  // namespace

// The two sweeps over the contexts that end the batch's histories; scratch.gradient gets [entries], zero elsewhere.
double OnlineTree::block_gradient(const OnlineBlock& b, std::span<const double> at, Piece& piece,
                                  std::span<const double> unigrams, Scratch& s) const {
  const auto& loops = simd::loops();
  s.gradient.assign(b.n_entries(), 0.0);
  s.touched.clear();
  double loss = 0.0;
  for (const Token& t : piece.tokens) {
    b.walk(text_, t.at, t.limit, s.path);
    for (const std::uint32_t c : s.path) {
      if (s.through[c] == 0.0) s.touched.push_back(c);
      s.through[c] += 1.0;
      const std::uint32_t e = b.find_entry(c, t.word);
      if (e == kNowhere) throw InvalidInput("online n-grams: a sentence that was never taken in");
      s.gradient[e] -= 1.0;
      loss -= b.multiplicity(c) * at[e];
    }
    if (!s.path.empty()) s.own[s.path.back()] += 1.0;
  }
  std::sort(s.touched.begin(), s.touched.end());
  for (const std::uint32_t c : s.touched) {
    const std::uint32_t e0 = b.context_entry[c], e1 = b.context_entry[c + 1];
    const double m = b.multiplicity(c);
    for (std::uint32_t e = e0; e < e1; ++e) s.p[e] = m * at[e];
    loops.exp(s.p.data() + e0, s.p.data() + e0, e1 - e0);
    const auto mass = [&](std::uint32_t e) {
      return b.entry_parent[e] == kNowhere ? unigrams[b.entry_word[e]] : s.p[b.entry_parent[e]];
    };
    double r = 1.0;
    for (std::uint32_t e = e0; e < e1; ++e) r += mass(e) * (s.p[e] - 1.0);
    if (r < kCancelledRatio) [[unlikely]] {
      r = missing_mass(b, c, unigrams, s.p, s.r);
      for (std::uint32_t e = e0; e < e1; ++e) r += mass(e) * s.p[e];
    }
    s.r[c] = r;
    for (std::uint32_t e = e0; e < e1; ++e) {
      s.p[e] *= mass(e) / r;
      s.d[e] = 0.0;
    }
    loss += s.through[c] * std::log(r);
    s.b[c] = s.own[c];
  }
  piece.unigram_change.assign(b.n_contexts() ? b.context_entry[1] : 0, 0.0);
  piece.scaled = 0.0;
  for (std::size_t i = s.touched.size(); i-- > 0;) {
    const std::uint32_t c = s.touched[i], above = b.context_parent[c];
    const double scaled = s.b[c] / s.r[c];
    (above == kNowhere ? piece.scaled : s.b[above]) += scaled;
    for (std::uint32_t e = b.context_entry[c]; e < b.context_entry[c + 1]; ++e) {
      const double expected = s.p[e] * s.b[c] + s.d[e];
      s.gradient[e] += expected;
      if (above == kNowhere) piece.unigram_change[e] = expected - unigrams[b.entry_word[e]] * scaled;
      else s.d[b.entry_parent[e]] += expected - s.p[b.entry_parent[e]] * scaled;
    }
    s.own[c] = s.through[c] = 0.0;
  }
  return piece.loss = loss;
}

double OnlineTree::unigram_gradient(std::span<const double> at, std::span<const Token> tokens,
                                    std::span<const Piece> pieces, double log_z, std::span<const double> p,
                                    std::span<double> out) const {
  double loss = static_cast<double>(tokens.size()) * log_z;
  double b = settings_.order == 1 ? static_cast<double>(tokens.size()) : 0.0;
  for (const Piece& piece : pieces) {
    b += piece.scaled;
    loss += piece.loss;
  }
  for (std::size_t w = 0; w < p.size(); ++w) out[w] = p[w] * b;
  for (const Piece& piece : pieces)
    for (std::size_t e = 0; e < piece.unigram_change.size(); ++e)
      out[blocks_[piece.block].entry_word[e]] += piece.unigram_change[e];
  for (const Token& t : tokens) {
    out[t.word] -= 1.0;
    loss -= at[t.word];
  }
  return loss;
}

namespace {

double softmax(std::span<const double> at, std::vector<double>& p) {
  const auto& loops = simd::loops();
  const double log_z = loops.logsumexp(at.data(), at.size());
  p.resize(at.size());
  for (std::size_t w = 0; w < p.size(); ++w) p[w] = at[w] - log_z;
  loops.exp(p.data(), p.data(), p.size());
  return log_z;
}

}  // namespace

double OnlineTree::gradient(ThreadPool& pool, std::span<const std::int64_t> sentences, std::span<double> out) {
  if (out.size() != n_entries()) throw InvalidInput("online n-grams: the gradient needs one number per n-gram");
  catch_up(pool);
  std::vector<Token> tokens = tokens_of(sentences);
  std::vector<Piece> pieces = pieces_of(tokens);
  std::vector<double> p;
  const double log_z = softmax(unigram_w_, p);
  std::vector<std::size_t> start(blocks_.size());
  for (std::size_t b = 0, at = settings_.n_words; b < blocks_.size(); at += blocks_[b++].n_entries()) start[b] = at;
  std::fill(out.begin(), out.end(), 0.0);
  for_pieces(pool, pieces, [&](Piece& piece, Scratch& scratch) {
    const OnlineBlock& block = blocks_[piece.block];
    scratch.fit(block);
    block_gradient(block, block.w, piece, p, scratch);
    std::copy(scratch.gradient.begin(), scratch.gradient.end(), out.data() + start[piece.block]);
  });
  return unigram_gradient(unigram_w_, tokens, pieces, log_z, p, out.first(p.size()));
}

// ---- steps ----------------------------------------------------------------------------------------------------------
OnlineSchedule OnlineTree::next_schedule(double batches) {
  const double t = static_cast<double>(schedule_.size()) + 1.0;
  if (!schedule_.empty()) tau_ = (std::sqrt(4.0 * delta_ + delta_ * delta_) - delta_) / 2.0;
  double L = settings_.lipschitz;
  if (L == 0.0) L = 1.0 + static_cast<double>(history_words_) / static_cast<double>(n_tokens_);
  const double noise = settings_.gain * t * (batches + std::sqrt(batches * t));
  rho_ = std::max(rho_, L + noise + settings_.mu / delta_);
  if (!schedule_.empty()) delta_ *= 1.0 - tau_;
  schedule_.push_back({tau_, rho_, settings_.mu});
  return schedule_.back();
}

namespace {

// V in place of Z.
void to_average(const OnlineSchedule& s, std::span<const double> w, std::span<double> z) {
  for (std::size_t i = 0; i < z.size(); ++i) z[i] = (1.0 - s.tau) * w[i] + s.tau * z[i];
}

}  // namespace

// From z = V and w = W to the next W and Z.
void OnlineTree::advance(OnlineBlock& b, const OnlineSchedule& s, double scale, std::span<const double> gradient,
                         Scratch& scratch) const {
  const std::size_t E = b.n_entries();
  double *x = scratch.x.data(), *mass = scratch.mass.data(), *threshold = scratch.threshold.data();
  for (std::uint32_t c = 0; c < b.n_contexts(); ++c) {
    const std::uint32_t depth = b.length_above(c);
    const double m = b.context_length[c] - depth, ridge = ridge_[depth];
    const double K = strength_[b.context_length[c]] - strength_[depth];
    for (std::uint32_t e = b.context_entry[c]; e < b.context_entry[c + 1]; ++e) {
      const double unit = s.rho * (b.entry_count[e] + ridge), v = b.z[e];
      double g = ridge * v;
      if (!gradient.empty()) g += scale * gradient[e];
      x[e] = v - g / unit;
      mass[e] = m * unit;
      threshold[e] = K;
    }
  }
  scratch.prox(settings_.penalty, settings_.nonnegative, b.entry_parent, {mass, E}, {threshold, E}, {x, E});
  const double keep = 1.0 - s.tau, inverse = 1.0 / (s.rho * s.tau + s.mu);
  for (std::size_t e = 0; e < E; ++e) {
    b.z[e] = (s.rho * (x[e] - keep * b.w[e]) + s.mu * b.z[e]) * inverse;
    b.w[e] = x[e];
  }
  ++b.step;
}

void OnlineTree::replay(OnlineBlock& b, std::uint64_t until, Scratch& scratch) const {
  scratch.fit(b);
  for (; b.step < until;) {
    if (all_zero(b.w) && all_zero(b.z)) {
      b.step = until;
      return;
    }
    const OnlineSchedule& s = schedule_[b.step];
    to_average(s, b.w, b.z);
    advance(b, s, 0.0, {}, scratch);
  }
}

void OnlineTree::advance_unigrams(const OnlineSchedule& s, double scale, std::span<const double> gradient) {
  const double keep = 1.0 - s.tau, inverse = 1.0 / (s.rho * s.tau + s.mu);
  for (std::size_t w = 0; w < unigram_w_.size(); ++w) {  // z holds V
    const double v = unigram_z_[w], unit = s.rho * (unigram_count_[w] + 1.0);
    const double x = v - (scale * gradient[w] + settings_.unigram_ridge * v) / unit;
    unigram_z_[w] = (s.rho * (x - keep * unigram_w_[w]) + s.mu * v) * inverse;
    unigram_w_[w] = x;
  }
}

double OnlineTree::take_step(ThreadPool& pool, std::vector<Token>& tokens, double corpus, bool insert_first) {
  if (tokens.empty()) return 0.0;
  if (insert_first) count_unigrams(tokens);
  const double scale = (corpus > 0.0 ? corpus : static_cast<double>(n_tokens_)) / static_cast<double>(tokens.size());
  const std::uint64_t before = n_steps();
  const OnlineSchedule s = next_schedule(scale);
  std::vector<Piece> pieces = pieces_of(tokens);
  to_average(s, unigram_w_, unigram_z_);
  std::vector<double> p;
  const double log_z = softmax(unigram_z_, p);
  for_pieces(pool, pieces, [&](Piece& piece, Scratch& scratch) {
    OnlineBlock& b = blocks_[piece.block];
    replay(b, before, scratch);
    if (insert_first) insert(b, piece.tokens);
    scratch.fit(b);
    to_average(s, b.w, b.z);
    block_gradient(b, b.z, piece, p, scratch);
    advance(b, s, scale, scratch.gradient, scratch);
  });
  std::vector<double> gradient(p.size());
  const double loss = unigram_gradient(unigram_z_, tokens, pieces, log_z, p, gradient);
  advance_unigrams(s, scale, gradient);
  if (settings_.eager) catch_up(pool);
  return loss;
}

double OnlineTree::step(ThreadPool& pool, std::span<const std::int64_t> sentences, double tokens) {
  std::vector<Token> batch = tokens_of(sentences);
  return take_step(pool, batch, tokens, false);
}

double OnlineTree::learn(ThreadPool& pool, std::span<const std::uint32_t> words, std::span<const std::int64_t> ptr,
                         double tokens) {
  std::vector<Token> batch = tokens_of(append(words, ptr));
  return take_step(pool, batch, tokens, true);
}

void OnlineTree::catch_up(ThreadPool& pool) {
  std::vector<Piece> all;
  for (std::uint32_t b = 0; b < blocks_.size(); ++b)
    if (blocks_[b].n_contexts() && blocks_[b].step < n_steps()) {
      all.emplace_back();
      all.back().block = b;
    }
  for_pieces(pool, all, [&](Piece& piece, Scratch& scratch) { replay(blocks_[piece.block], n_steps(), scratch); });
}

}  // namespace loglinear::stream
