// What every test needs.
const path = require('node:path');
const vscode = require('vscode');
const page = require('./page.js');

const folder = vscode.workspace.workspaceFolders[0].uri;

/** The file in the workspace whose path ends so. */
async function find(end) {
  const [folders, name] = [path.dirname(end), path.basename(end)];
  const there = vscode.Uri.joinPath(folder, folders);
  const entry = (await vscode.workspace.fs.readDirectory(there)).map(([entry]) => entry).find((entry) => entry.endsWith(name));
  if (entry === undefined) throw new Error(`no file ${end}`);
  return vscode.Uri.joinPath(there, entry);
}

async function open(end) {
  const document = await vscode.workspace.openTextDocument(await find(end));
  return vscode.window.showTextDocument(document, { preview: false });
}

/** Waits until `probe` gives something. */
async function until(what, probe, limit = 20_000) {
  for (const end = Date.now() + limit; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 40))) {
    const found = await probe();
    if (found) return found;
  }
  throw new Error(`waited for ${what}`);
}

/** The position of the first place where `text` stands, `after` characters on. */
function positionOf(document, text, after = 1) {
  const offset = document.getText().indexOf(text);
  if (offset < 0) throw new Error(`no ${text}`);
  return document.positionAt(offset + after);
}

/** Runs one of VS Code's own commands for what providers say; again until they say something. */
function provided(command, ...args) {
  return until(command, async () => {
    const found = await vscode.commands.executeCommand(command, ...args);
    return found?.length > 0 ? found : undefined;
  });
}

const hoverText = (hovers) => hovers.flatMap(({ contents }) => contents.map(({ value }) => value)).join('\n');

/** Waits for a message to the user. VS Code shows none by itself to a test that drives it, and its list closes with the last that was in it. */
async function message(text) {
  return until(`the message ${text}`, async () => (await messages()).find((shown) => new RegExp(text).test(shown)));
}

/** The messages to the user. Progress is in their list while it lasts, though nobody is shown it there unasked. */
async function messages() {
  await vscode.commands.executeCommand('notifications.showList');
  return (await page.texts(MESSAGES)).filter((text) => !text.includes('Indexing dumps'));
}

const MESSAGES = '.notification-list-item';

module.exports = {
  MESSAGES,
  find,
  folder,
  hoverText,
  message,
  messages,
  open,
  positionOf,
  provided,
  until,
};
