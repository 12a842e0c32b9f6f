import { DATA_BYTES } from './workspace-frames.ts';

type Send = (frame: object) => void;

/** Muster's end of a command's descriptor 3, which is a socket that is carried while the command runs. */
export class CommandLine {
  readonly #early: object[] = [];
  #send: Send = (frame) => this.#early.push(frame);
  #receive: (data: Buffer) => void = () => undefined;

  /** @param receive is called with what the command writes, as it comes. */
  onData(receive: (data: Buffer) => void): void {
    this.#receive = receive;
  }

  write(data: Buffer): void {
    for (let at = 0; at < data.length; at += DATA_BYTES)
      this.#send({ type: 'line', data: data.toString('base64', at, Math.min(at + DATA_BYTES, data.length)) });
  }

  /** Ends the command's input. @param seconds after which the command itself is ended. */
  hangUp(seconds?: number): void {
    this.#send({ type: 'hangup', seconds: seconds ?? null });
  }

  /** Connects the session that runs the command. */
  attach(send: Send): void {
    this.#send = send;
    for (const frame of this.#early.splice(0)) send(frame);
  }

  /** Receives output from the session that runs the command. */
  take(data: Buffer): void {
    this.#receive(data);
  }
}
