/** Values that may depend on each other: their number or weight, and their mean. */
export interface Cluster {
  readonly count: number;
  readonly mean: number;
}

/**
 * Computes the standard error of the mean of all values when only the G clusters are independent: √(G/(G−1) · Σ_g (Σ_{i∈g} (xᵢ − x̄))²)/n (Liang and
 * Zeger 1986, with the correction for few clusters). Returns undefined for fewer than two clusters.
 */
export function computeClusteredError(clusters: readonly Cluster[]): number | undefined {
  if (clusters.length < 2) return undefined;
  let [count, mean] = [0, 0];
  for (const cluster of clusters) {
    count += cluster.count;
    mean += ((cluster.mean - mean) * cluster.count) / count;
  }
  const squares = clusters.reduce((sum, cluster) => sum + (cluster.count * (cluster.mean - mean)) ** 2, 0);
  return Math.sqrt((clusters.length / (clusters.length - 1)) * squares) / count;
}
