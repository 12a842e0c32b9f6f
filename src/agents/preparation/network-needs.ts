/** Error messages of programs without a network, or without a listening service. */
const SAYS_NETWORK =
  /Name or service not known|Temporary failure in name resolution|Network is unreachable|Connection refused|getaddrinfo|ECONNREFUSED|ENETUNREACH|EAI_AGAIN|ENOTFOUND|NameResolutionError|no such host|Failed to establish a new connection/;
const SUMMARY = /^(FAILED|ERROR) (?<id>\S+)( - (?<message>.*))?$/gm;
const MOST_NAMED = 50;

/** Finds tests whose failure shows that they need a network, by pytest's printed summary; for other frameworks, the output as a whole. */
export function findNetworkNeeds(output: string): readonly string[] {
  if (!SAYS_NETWORK.test(output)) return [];
  const named = Array.from(output.matchAll(SUMMARY))
    .filter(({ groups }) => SAYS_NETWORK.test(groups?.['message'] ?? ''))
    .map(({ groups }) => groups?.['id'] ?? '');
  return (named.length > 0 ? named : ['(a test that the output does not name)']).slice(0, MOST_NAMED);
}
