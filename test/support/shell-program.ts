import type { AskedCompletion, ModelScript, ScriptedReply } from './model-server.ts';

/** A program that does what its model says in a shell, until that says that it is done. It knows of no Muster. */
const PROGRAM = `
import json, os, subprocess, sys, urllib.request
print("instruction:", sys.argv[1][:20], open(os.environ["MUSTER_INSTRUCTION_FILE"]).read() == sys.argv[1])
messages = [{"role": "user", "content": sys.argv[1]}]
while True:
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": sys.argv[2], "messages": messages}).encode(),
        {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"},
    )
    said = json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
    messages.append({"role": "assistant", "content": said})
    if said == "done":
        break
    ran = subprocess.run(said, shell=True, capture_output=True, text=True)
    messages.append({"role": "user", "content": ran.stdout + ran.stderr})
`;

/** With an endpoint it is an agent. */
export const SHELL_PROGRAM = { agent: 'program', command: ['/usr/bin/python3', '-c', PROGRAM, '{instruction}', '{model}'] };

/** One command after the other, then that it is done. */
export function says(...commands: readonly string[]): ModelScript {
  return ({ messages }: AskedCompletion): ScriptedReply => ({
    text: commands[messages.filter(({ role }) => role === 'assistant').length] ?? 'done',
  });
}
