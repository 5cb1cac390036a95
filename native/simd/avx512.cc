#define LOGLINEAR_SIMD avx512
#include "simd/loops.inc"
