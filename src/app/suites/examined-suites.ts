import { getMessage, MusterError } from '../../kernel/errors.ts';
import type { Library } from '../../service/orders/library.ts';

/** The suites that a configuration names, as they are now. */
export interface ExaminedSuites {
  /** Of each that cannot be played as it is, for people. */
  readonly problems: readonly string[];
  /** Templates that the others are played on. */
  readonly templates: readonly string[];
}

/** Suites are read when they are asked for, so that one may be put in its place later: a server opens without it, and says so. */
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
        return { problem: `server.suites.${name}: ${getMessage(error)}; evaluations of it are refused until that is mended` };
      }
    }),
  );
  return {
    problems: examined.flatMap(({ problem }) => problem ?? []),
    templates: [...new Set(examined.flatMap(({ template }) => template ?? []))],
  };
}
