/** Open files of one process in a sandbox. */
export const OPEN_FILES = 4096;
