import { InfrastructureError } from '../../kernel/errors.ts';

/** A program ended by itself before it was ready. Once is an accident; when it happens every time, the template has to be corrected. */
export class EndedEarlyError extends InfrastructureError {}
