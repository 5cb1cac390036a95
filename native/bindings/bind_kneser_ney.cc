#include "bindings/arrays.hh"

namespace loglinear {

void bind_kneser_ney(nb::module_&) {}

}  // namespace loglinear
