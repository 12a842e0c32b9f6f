/** Beyond this distance, Φ is indistinguishable from 0 or 1 in floating point. */
const FARTHEST = 8.5;

/**
 * Computes Φ(z), the standard normal probability below z, to about 1e-15: ½ + φ(z)·(z + z³/3 + z⁵/(3·5) + …), after Marsaglia (2004), "Evaluating the
 * normal distribution".
 */
export function computeNormalProbability(z: number): number {
  if (z < -FARTHEST) return 0;
  if (z > FARTHEST) return 1;
  let [sum, term, before] = [z, z, Number.NaN];
  for (let odd = 3; sum !== before; odd += 2) {
    before = sum;
    term *= (z * z) / odd;
    sum += term;
  }
  return 0.5 + sum * Math.exp(-(z * z) / 2 - Math.log(2 * Math.PI) / 2);
}
