import { getMessage, MusterError } from '../../kernel/errors.ts';
import type { Library } from '../../service/orders/library.ts';

/** The suites that a configuration names, as they are now. */
export interface ExaminedSuites {
  /** Problems of suites that cannot be played as they are, for people. */
  readonly problems: readonly string[];
  /** Templates of the other suites. */
  readonly templates: readonly string[];
}

/** Suites are read when they are needed, so they may be added later: a server starts without them, and says so. */
export async function examineSuites(
  names: readonly string[],
  library: Pick<Library, 'orderSuite'>,
  signal: AbortSignal,
): Promise<ExaminedSuites> {
  const examined = await Promise.all(
    names.map(async (name) => {
      try {
        return { template: (await library.orderSuite(name, undefined, signal)).written.template };
      } catch (error) {
        if (!(error instanceof MusterError)) throw error;
        return { problem: `server.suites.${name}: ${getMessage(error)}; evaluations of it are refused until that is corrected` };
      }
    }),
  );
  return {
    problems: examined.flatMap(({ problem }) => problem ?? []),
    templates: [...new Set(examined.flatMap(({ template }) => template ?? []))],
  };
}
