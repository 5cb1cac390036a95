// Levenshtein distances of candidates to the transcript of their list, in words or in characters.
//
// Candidates of one list differ in a few places, so common prefixes and suffixes of candidate and transcript are
// removed first; the rest takes the bit-parallel algorithm, 64 places at a time (Myers 1999, in the form of Hyyro
// 2003).
#pragma once
#include <cstdint>
#include <span>

#include "util/interner.hh"
#include "util/thread_pool.hh"

namespace loglinear::lists {

// Least number of insertions, deletions and substitutions that turn one sequence into the other.
std::int64_t edit_distance(std::span<const std::int32_t> a, std::span<const std::int32_t> b);

// distances[t] = distance of texts[t] to transcripts[i], for the texts list_ptr[i] .. list_ptr[i + 1] - 1 of list i;
// lengths[i] = number of words or characters of transcripts[i].
void edit_distances(ThreadPool& pool, Strings transcripts, Strings texts,
                    std::span<const std::int64_t> list_ptr, bool by_characters, std::span<double> distances,
                    std::span<double> lengths);

}  // namespace loglinear::lists
