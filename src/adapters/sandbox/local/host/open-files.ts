/** Open files that one process of a sandbox may have. */
export const OPEN_FILES = 4096;
