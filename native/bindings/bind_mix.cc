#include "bindings/arrays.hh"

namespace loglinear {

void bind_mix(nb::module_&) {}

}  // namespace loglinear
