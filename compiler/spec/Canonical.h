// One text per meaning. Two specs that differ in names of functions and lets, in parameters against
// literals, in the order of fields or of operands that commute, have the same canonical text and so
// the same digest, the key of every cache. Names of captured tensors and scalars are part of it:
// callers pass them by name.
#pragma once
#include "compiler/spec/Model.h"

namespace attune::spec {

/// Drops nodes that no field reaches, numbers the rest in order of use, and fills `normal`,
/// `canonical` and `digest`. The text prints the normal form, and the compiler sees no other: equal
/// texts are equal kernels, bit for bit.
void finishModel(Model &);

} // namespace attune::spec
