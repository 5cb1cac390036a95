// When a sum of differences has cancelled: below these fractions of its terms it is taken again from positive terms.
//
// A double has sixteen decimal digits; a sum that shrinks to a fraction 10^-d of its terms keeps 16 - d of them. The
// second sum is exact and slower, so each threshold weighs the digits that a result needs against how often the sum is
// taken again.
#pragma once

namespace loglinear {

// Of ratios Z(h) / Z(parent h) in sweeps over n-grams: errors multiply along the words of a history, so only two digits
// may go at each.
inline constexpr double kCancelledRatio = 1e-2;

// Of one minus a sum of probabilities in back-off models: it is divided by once.
inline constexpr double kCancelledRest = 1e-3;

// Of one sum of its own: the normaliser of a history by unigram caching, a step of a sparse label chain, where
// forward values are scaled anew at every token.
inline constexpr double kCancelledCaching = 1e-5;
inline constexpr double kCancelledStep = 1e-6;

// Tokens times Z(parent h) / Z(h), per token, above which what a context hands to its parent would cancel there.
inline constexpr double kAmplified = 1e4;

}  // namespace loglinear
