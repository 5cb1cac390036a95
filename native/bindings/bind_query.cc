#include "bindings/arrays.hh"

namespace loglinear {

void bind_query(nb::module_&) {}

}  // namespace loglinear
