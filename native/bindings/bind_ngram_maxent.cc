#include "bindings/arrays.hh"

namespace loglinear {

void bind_ngram_maxent(nb::module_&) {}

}  // namespace loglinear
