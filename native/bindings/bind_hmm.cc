#include "bindings/arrays.hh"

namespace loglinear {

void bind_hmm(nb::module_&) {}

}  // namespace loglinear
