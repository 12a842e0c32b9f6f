// Plain JavaScript that old Nodes can read, so that they can say that they are too old.
const OLDEST = [24, 12];

/** The message for users of a Node that is too old for the package; undefined on any other Node. */
export function describeOldNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined;
  return `this is Node ${process.versions.node}, and ${OLDEST.join('.')} or newer is needed; install it, or put it beside Muster: npm install node@24`;
}
