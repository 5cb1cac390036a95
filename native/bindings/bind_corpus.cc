#include "bindings/arrays.hh"

namespace loglinear {

void bind_corpus(nb::module_&) {}

}  // namespace loglinear
