// What the suite asks of the page it is shown in: see ../drive.mjs.
const fs = require('node:fs');
const path = require('node:path');
const vscode = require('vscode');

const mailbox = path.join(vscode.workspace.workspaceFolders[0].uri.fsPath, '.page');
let number = 0;

async function ask(what, argument = {}) {
  number += 1;
  const answer = path.join(mailbox, `${number}.answer`);
  fs.writeFileSync(path.join(mailbox, 'writing'), JSON.stringify({ what, ...argument }));
  fs.renameSync(path.join(mailbox, 'writing'), path.join(mailbox, `${number}.request`));
  while (!fs.existsSync(answer)) await new Promise((resolve) => setTimeout(resolve, 25));
  const { value, error } = JSON.parse(fs.readFileSync(answer, 'utf8'));
  if (error !== undefined) throw new Error(`${what} ${JSON.stringify(argument)}: ${error}`);
  return value;
}

module.exports = {
  see: (selector, text, timeout) => ask('see', { selector, text, timeout }),
  texts: (selector) => ask('texts', { selector }),
  click: (selector, text) => ask('click', { selector, text }),
  seeInView: (selector, text) => ask('seeInView', { selector, text }),
  clickInView: (selector, text) => ask('clickInView', { selector, text }),
  press: (key) => ask('press', { key }),
  point: (text, at) => ask('point', { text, at }),
  away: () => ask('away'),
  screenshot: (name) => ask('screenshot', { name }),
};
