#include "bindings/arrays.hh"

namespace loglinear {

void bind_conll(nb::module_&) {}

}  // namespace loglinear
