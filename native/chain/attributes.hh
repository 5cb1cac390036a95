// Attributes of tokens as they come, one at a time, to compressed rows: names are numbered by first occurrence, and
// values are kept from the first one on that is not 1.
#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "util/interner.hh"

namespace loglinear::chain {

struct AttributeArrays {
  std::vector<std::int64_t> sequence_ptr{0};  // [n_sequences + 1]
  std::vector<std::int64_t> indptr{0};        // [n_tokens + 1]
  std::vector<std::int32_t> indices;          // [n_occurrences], numbers of names
  std::vector<double> values;                 // [n_occurrences], or empty where all are 1
};

class AttributeCollector {
 public:
  void add(std::string_view name, double value) { add(names_.intern(name), value); }

  // The number is one of those that intern gave.
  void add(std::int32_t number, double value) {
    if (value != 1.0 && !weighted_) {
      rows_.values.assign(rows_.indices.size(), 1.0);
      weighted_ = true;
    }
    if (weighted_) rows_.values.push_back(value);
    rows_.indices.push_back(number);
  }
  std::int32_t intern(std::string_view name) { return names_.intern(name); }
  void end_token() { rows_.indptr.push_back(static_cast<std::int64_t>(rows_.indices.size())); }
  void end_sequence() { rows_.sequence_ptr.push_back(static_cast<std::int64_t>(rows_.indptr.size()) - 1); }

  // Forgets the attributes after the last token, or all tokens after the last sequence; their names keep their numbers.
  void drop_attributes() {
    rows_.indices.resize(static_cast<std::size_t>(rows_.indptr.back()));
    if (weighted_) rows_.values.resize(rows_.indices.size());
  }
  void drop_tokens() {
    rows_.indptr.resize(static_cast<std::size_t>(rows_.sequence_ptr.back()) + 1);
    drop_attributes();
  }

  const AttributeArrays& rows() const { return rows_; }
  const PackedStrings& names() const { return names_.strings(); }
  std::pair<AttributeArrays, PackedStrings> take() && { return {std::move(rows_), std::move(names_).take()}; }

 private:
  Interner names_;
  AttributeArrays rows_;
  bool weighted_ = false;
};

}  // namespace loglinear::chain
