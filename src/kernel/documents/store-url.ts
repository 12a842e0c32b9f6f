/** Tells people what `store.url` may be. */
export const STORE_URL_EXPECTED =
  '"auto", the path of a file, or postgresql://user:password@host:port/database, or with a socket postgresql://user@localhost/database?host=/directory, with %40 for @ and %2F for / in the password';

/** Whether it names a database on a server, which several Musters can use. */
export function namesServer(url: string): boolean {
  return /^[a-z]+:/.test(url);
}

/**
 * Returns false for a typing error in the scheme of a URL, such as `postgres//host/database`, which would otherwise be the path of a new SQLite file.
 */
export function isPathOrUrl(text: string): boolean {
  return namesServer(text) || !/^[a-z]+:?\/\//i.test(text);
}
