/** The logger that the domain needs; pino's logger fits. Fields are ids and figures, never secrets or whole outputs. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  /** Writes what an operator has to know. By default, `log.level` omits everything below it. */
  error(fields: object, message: string): void;
}

export const silentLog: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
