/** What a path of the Kubernetes API is about. */
export interface ApiPath {
  readonly group: string;
  readonly namespace: string | undefined;
  readonly resource: string;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** `/api/v1/…` of the core group, `/apis/GROUP/VERSION/…` of all others; undefined for what is neither. */
export function parseApiPath(path: string): ApiPath | undefined {
  const [, root, ...parts] = path.split('/').map(decodeURIComponent);
  const group = root === 'apis' ? (parts.shift() ?? '') : '';
  if (root !== 'api' && root !== 'apis') return undefined;
  parts.shift();
  const isInside = parts[0] === 'namespaces' && parts.length > 2;
  const namespace = isInside ? parts[1] : undefined;
  const [resource, name, subresource] = isInside ? parts.slice(2) : parts;
  return resource === undefined ? undefined : { group, namespace, resource, name, subresource };
}
