-- A Neovim before 0.11 says so, once, and shows colours.
local t = require('support')

t.test(function()
  vim.cmd.edit('planted-error.txt')
  t.equal('the file type', vim.bo.filetype, 'xla-buffer-assignment')
  t.equal('colours', vim.bo.syntax, 'xla-buffer-assignment')
  t.check('it is told', t.told('needs Neovim 0.11'))
  vim.cmd('checkhealth buflens')
  local health = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  t.check('health says so', health:find('too old', 1, true) ~= nil, health)
end)
