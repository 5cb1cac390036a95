#include "backoff/model.hh"

#include <limits>
#include <string>

#include "util/errors.hh"
#include "util/views.hh"

namespace loglinear::backoff {

using trie::kNowhere;
void BackoffArrays::check_values(ThreadPool& pool) const {
  require(log_backoff.size() == shape.n_contexts(), "n-gram arrays: there must be one log_backoff for each context");
  require(log_probability.size() == shape.n_entries(),
          "n-gram arrays: there must be one log_probability for each entry");
  const auto usable = [](double x) { return x < std::numeric_limits<double>::infinity(); };
  for (const auto values : {log_backoff, log_probability})
    parallel_for(pool, values.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        if (!usable(values[i]))
          throw InvalidInput("back-off model: value " + std::to_string(i) + " of " +
                             (values.data() == log_backoff.data() ? "log_backoff" : "log_probability") +
                             " is NaN or infinity");
    });
}

double BackoffArrays::log_p(std::uint32_t context, std::uint32_t word, std::span<const std::uint32_t> parents) const {
  double total = 0.0;
  for (;;) {
    const std::uint32_t e = shape.entry(context, word);
    if (e != kNowhere) return total + log_probability[e];
    if (context == 0) return -std::numeric_limits<double>::infinity();  // <s>
    total += log_backoff[context];
    context = parents[context];
  }
}

}  // namespace loglinear::backoff
