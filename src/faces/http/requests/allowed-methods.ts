import type { FastifyInstance } from 'fastify';

/** The methods that each path supports, to answer requests with other methods. Set up before any route. */
export class AllowedMethods {
  readonly #methods = new Map<string, Set<string>>();

  watch(app: FastifyInstance): void {
    app.addHook('onRoute', ({ method, url }) => {
      const known = this.#methods.get(url) ?? new Set();
      for (const each of [method].flat()) known.add(each);
      this.#methods.set(url, known);
    });
  }

  /** @param url with or without a query. @returns none when there is no such path. */
  listMethods(url: string): readonly string[] {
    const path = url.split('?')[0] ?? '';
    const found = this.#methods.entries().filter(([route]) => matchesRoute(route, path));
    return [...new Set(found.flatMap(([, methods]) => methods))].toSorted();
  }
}

/** @param route as fastify writes it: `/v1/evaluations/:id`. */
function matchesRoute(route: string, path: string): boolean {
  const [wanted, given] = [route.split('/'), path.split('/')];
  if (wanted.at(-1) === '*') return path.startsWith(route.slice(0, -1));
  return wanted.length === given.length && wanted.every((part, at) => part === given[at] || (part.startsWith(':') && given[at] !== ''));
}
