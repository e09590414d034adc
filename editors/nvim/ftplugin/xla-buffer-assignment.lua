if vim.b.did_ftplugin then
  return
end
vim.b.did_ftplugin = 1
require('buflens.buffer').set_up()
