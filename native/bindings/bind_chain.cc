#include "bindings/arrays.hh"

namespace loglinear {

void bind_chain(nb::module_&) {}

}  // namespace loglinear
