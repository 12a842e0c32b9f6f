import type { IncomingHttpHeaders } from 'node:http';
import { PACKAGE_VERSION } from '../kernel/package-root.ts';

export const VERSION_HEADER = 'muster-version';

interface Warned {
  readonly url: string;
  readonly warn: (message: string) => void;
}

/** Warns a client once of each server version whose first two numbers are not the client's. The two may still work together. */
export class OtherVersions {
  readonly #options: Warned;
  readonly #warned = new Set<string>();

  constructor(options: Warned) {
    this.#options = options;
  }

  check(headers: IncomingHttpHeaders): void {
    const found = headers[VERSION_HEADER];
    if (typeof found !== 'string' || this.#warned.has(found) || getSeries(found) === getSeries(PACKAGE_VERSION)) return;
    this.#warned.add(found);
    const { url, warn } = this.#options;
    warn(
      `the server at ${url} is Muster ${found}, and this client is ${PACKAGE_VERSION}; an answer may be one that this client does not know. ` +
        `Install the server's version: muster-eval ${found}`,
    );
  }
}

function getSeries(version: string): string {
  return version.split('.').slice(0, 2).join('.');
}
