/** Credentials that can be recognised by how they begin, and assignments of long random texts. */
const SECRETS: readonly (readonly [string, RegExp])[] = [
  ['a private key', /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----/],
  ['a key of AWS', /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/],
  ['a token of GitHub', /\bgh[pousr]_[A-Za-z0-9]{36,255}\b|\bgithub_pat_\w{40,255}\b/],
  ['a token of GitLab', /\bglpat-[\w-]{20,64}\b/],
  ['a token of Slack', /\bxox[abeoprs]-[\w-]{10,250}\b/],
  ['a key of Google', /\bAIza[\w-]{35}\b/],
  ['a token of npm or PyPI', /\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[\w-]{50,255}/],
  ['an API key', /\bsk-(?:ant-|proj-)?[\w-]{32,200}\b/],
  ['a JSON web token', /\beyJ[\w-]{10,2000}\.eyJ[\w-]{10,4000}\.[\w-]{10,1000}/],
];
const ASSIGNED = /(?:secret|passw(?:or)?d|token|api_?key)\w{0,20}["']?\s{0,4}[:=]\s{0,4}["'](?<value>[A-Za-z0-9+/_-]{24,128})["']/gi;
/** Bits a character. Words have less than 3.6, random texts of letters and digits more than 4. */
const RANDOM_BITS = 3.9;

/** @returns what secret a text seems to hold; undefined when none. */
export function findSecret(text: string): string | undefined {
  const found = SECRETS.find(([, form]) => form.test(text));
  if (found !== undefined) return found[0];
  const random = Array.from(text.matchAll(ASSIGNED)).some(({ groups }) => measureBits(groups?.['value'] ?? '') > RANDOM_BITS);
  return random ? 'a random text that is assigned to a secret' : undefined;
}

/** Computes Shannon's entropy of the characters of a text, in bits. */
function measureBits(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  return [...counts.values()].reduce((sum, count) => sum - (count / text.length) * Math.log2(count / text.length), 0);
}
