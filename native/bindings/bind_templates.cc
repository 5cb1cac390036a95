#include "bindings/arrays.hh"

namespace loglinear {

void bind_templates(nb::module_&) {}

}  // namespace loglinear
