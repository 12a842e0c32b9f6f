/** The container of the program, and the one through which files are uploaded: only that one can write to the inbox. */
export const PROGRAM_CONTAINER = 'program';
export const INBOX_CONTAINER = 'inbox';
