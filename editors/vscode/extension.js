// The client of `dpasp lsp`, and two commands: run a program, and show why its answers are so.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function command() {
  return vscode.workspace.getConfiguration("dpasp").get("command", "dpasp");
}

async function start() {
  const server = { command: command(), args: ["lsp"] };
  const options = { documentSelector: [{ language: "dpasp" }] };
  client = new LanguageClient("dpasp", "dPASP", server, options);
  try {
    await client.start();
  } catch (error) {
    const help = "install dPASP with the extra lsp, or set dpasp.command to where dpasp is.";
    vscode.window.showWarningMessage(`The language server could not be started: ${help}`);
  }
}

async function stop() {
  const old = client;
  client = undefined;
  if (old && old.needsStop()) {
    await old.stop();
  }
}

// As a task, without a shell: nothing in the name of a file is read as a command.
async function execute(name, words) {
  const editor = vscode.window.activeTextEditor;
  if (!editor || editor.document.languageId !== "dpasp") {
    vscode.window.showInformationMessage("Open a program (.plp) first.");
    return;
  }
  if (!vscode.workspace.isTrusted) {
    vscode.window.showInformationMessage("Programs are run in trusted workspaces only.");
    return;
  }
  await editor.document.save();
  const file = editor.document.uri;
  const folder = vscode.workspace.getWorkspaceFolder(file);
  const process = new vscode.ProcessExecution(command(), [...words, file.fsPath], {
    cwd: folder ? folder.uri.fsPath : undefined,
  });
  const scope = folder || vscode.TaskScope.Workspace;
  const task = new vscode.Task({ type: "dpasp" }, scope, name, "dPASP", process);
  task.presentationOptions = { clear: true, showReuseMessage: false };
  await vscode.tasks.executeTask(task);
}

// The question that the cursor is in, or that is selected; without one, all of the program's.
function question() {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    return [];
  }
  const selected = editor.document.getText(editor.selection).trim();
  const text = selected || editor.document.lineAt(editor.selection.active.line).text;
  const found = text.match(/^\s*#(?:query|pr)\b\s*([^%]*?)\.?\s*(?:%.*)?$/);
  return found ? ["--query", found[1].trim()] : [];
}

async function activate(context) {
  const more = () => vscode.workspace.getConfiguration("dpasp").get("runArguments", []);
  context.subscriptions.push(
    vscode.commands.registerCommand("dpasp.run", () => execute("run", ["run", ...more()])),
    vscode.commands.registerCommand("dpasp.why", () => execute("explain", ["explain", ...question()])),
    vscode.commands.registerCommand("dpasp.restart", async () => {
      await stop();
      await start();
    }),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("dpasp.command")) {
        await stop();
        await start();
      }
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
