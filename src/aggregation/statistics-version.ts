/**
 * Raised with every change that gives other official figures for the same returns, or another moment to stop: an evaluation that began under one
 * version does not go on under another, and an answer of one does not stand in for that of another. 1 is what does not say it.
 */
export const STATISTICS_VERSION = 4;
