#define LOGLINEAR_SIMD baseline
#include "simd/loops.inc"
