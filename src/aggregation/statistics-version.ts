/**
 * Increased with each change after which equal returns give other official figures, or stop at another episode. An evaluation that began under one
 * version does not continue under another, and an answer of one version does not replace that of another. Results without a version have version 1.
 */
export const STATISTICS_VERSION = 6;
