/** The container that the program runs in, and the one that files are brought in through: only there can the inbox be written. */
export const PROGRAM_CONTAINER = 'program';
export const INBOX_CONTAINER = 'inbox';
