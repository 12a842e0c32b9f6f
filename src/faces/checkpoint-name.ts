/** Returns a short name for people: the checkpoint's name, the end of its path, or enough of its digest to be distinct. */
export function getCheckpointName({ name, uri }: { readonly name?: string | undefined; readonly uri: string }): string {
  if (name !== undefined) return name;
  const digest = /^(?:sha256:)?([0-9a-f]{12})[0-9a-f]{52}$/.exec(uri)?.[1];
  return digest === undefined ? (uri.split('/').findLast((part) => part !== '') ?? uri) : `sha256:${digest}…`;
}
