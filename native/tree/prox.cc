#include "tree/prox.hh"

namespace loglinear::tree {

void check_fit(const Tree& tree, const TreePenalty& penalty) {
  const std::size_t n = tree.size();
  const TreeGroups& groups = penalty.groups;
  require(penalty.scale.empty() || penalty.scale.size() == n, "scale does not have one entry per node");
  require(groups.weights.empty() || groups.weights.size() == n, "weights of groups do not have one entry per node");
  require(groups.multiplicity.empty() || groups.multiplicity.size() == n,
          "multiplicity does not have one entry per node");
  if (groups.growth.empty()) return;
  require(groups.depth.size() == n, "depths do not have one entry per node");
  for (std::uint32_t d : groups.depth) require(d < groups.growth.size(), "there is no weight for the depth of a node");
}

void check_prox(ThreadPool& pool, const Tree& tree, const ProxSource& source, std::size_t n_out) {
  require(source.z.size() == tree.size(), "the tree of the penalty does not have one node per weight");
  require(n_out == tree.size(), "the output does not have one entry per weight");
  require(source.steps.size() == 1 || source.steps.size() == tree.size(),
          "steps must be one number, or one per weight");
  parallel_for(pool, source.steps.size(), kVectorChunk, [&](std::size_t begin, std::size_t end) {
    bool good = true;
    for (std::size_t i = begin; i < end; ++i)
      good &= source.steps[i] > 0.0 && source.steps[i] <= std::numeric_limits<double>::max();
    require(good, "steps must be positive and finite");
  });
}

void check_residual(const Tree& tree, const ResidualSource& source) {
  require(source.w.size() == tree.size(), "the tree of the penalty does not have one node per weight");
  require(source.gradient.size() == tree.size(), "the gradient does not have one entry per weight");
}

}  // namespace loglinear::tree
