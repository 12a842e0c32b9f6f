import { getMessage, MusterError } from '../../kernel/errors.ts';
import type { Library } from '../../service/orders/library.ts';

/**
 * The problems of each suite that the configuration names and that cannot be played as it is now, for people. They are read
 * when they are asked for, so that one may be put in its place later: a server opens without it, and says so.
 */
export async function findSuiteProblems(
  names: readonly string[],
  library: Pick<Library, 'orderSuite'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const problems = await Promise.all(
    names.map(async (name) => {
      try {
        await library.orderSuite(name, undefined, signal);
        return [];
      } catch (error) {
        if (!(error instanceof MusterError)) throw error;
        return [`server.suites.${name}: ${getMessage(error)}; evaluations of it are refused until that is mended`];
      }
    }),
  );
  return problems.flat();
}
