#define LOGLINEAR_SIMD avx2
#include "simd/loops.inc"
