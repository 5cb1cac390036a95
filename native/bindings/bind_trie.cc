#include "bindings/arrays.hh"

namespace loglinear {

void bind_trie(nb::module_&) {}

}  // namespace loglinear
