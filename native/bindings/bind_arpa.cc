#include "bindings/arrays.hh"

namespace loglinear {

void bind_arpa(nb::module_&) {}

}  // namespace loglinear
