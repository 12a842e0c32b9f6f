import type { IncomingHttpHeaders } from 'node:http';

/**
 * The page keeps its token in a cookie that no script can read and that browsers send only with requests of the server's own pages. Other callers
 * send the header `Authorization`.
 */
const NAME = 'muster_session';
const TOKEN = /^muster_[A-Za-z0-9_-]{1,128}$/;
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Reads the value that the header `Authorization` would have; undefined without a cookie of ours. */
export function readCookieAuthorization({ cookie }: IncomingHttpHeaders): string | undefined {
  const pairs = (cookie ?? '').split(';').map((pair) => pair.trim());
  const token = pairs.find((pair) => pair.startsWith(`${NAME}=`))?.slice(NAME.length + 1);
  return token !== undefined && TOKEN.test(token) ? `Bearer ${token}` : undefined;
}

/** @param authorization of an authenticated caller. @param isSecure whether the browser uses TLS, to the server or to a proxy before it. */
export function formatSessionCookie(authorization: string, isSecure: boolean): string {
  return formatCookie(authorization.replace(/^bearer +/i, '').trim(), isSecure, undefined);
}

/** Has the browser forget the token. */
export function formatEndedSessionCookie(isSecure: boolean): string {
  return formatCookie('', isSecure, 0);
}

function formatCookie(value: string, isSecure: boolean, maxAgeSeconds: number | undefined): string {
  const age = maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`;
  return `${NAME}=${value}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}${age}`;
}

/**
 * Whether a page of another site sent a request that changes something. `SameSite=Strict` keeps browsers from sending the cookie then; this check is
 * for browsers without it, and for sites on other ports of the same host, which count as the same site.
 */
export function isForeign({ method, headers }: { readonly method: string; readonly headers: IncomingHttpHeaders }): boolean {
  // A page of another site may open a WebSocket, and what is sent over it changes something.
  if (SAFE_METHODS.has(method) && headers.upgrade === undefined) return false;
  const { origin, host } = headers;
  return origin === undefined || URL.parse(origin)?.host !== host;
}
