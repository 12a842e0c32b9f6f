/** Describes what an entry of the audit tells beyond its target: each field, or of a change the fields that differ. */
export function describeAuditDetails(details: unknown): string {
  if (!isObject(details)) return '';
  const { before, after } = details;
  if (!isObject(before) || !isObject(after)) return joinFields(details, ([name, value]) => `${name} ${formatValue(value)}`);
  return joinFields(after, ([name, value]) =>
    before[name] === value ? '' : `${name} ${formatValue(before[name])} → ${formatValue(value)}`,
  );
}

function joinFields(fields: Readonly<Record<string, unknown>>, format: (field: readonly [string, unknown]) => string): string {
  return Object.entries(fields)
    .map(format)
    .filter((text) => text !== '')
    .join(', ');
}

function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
