-- No server, or a program that is none.
local t = require('support')

t.test(function()
  vim.g.buflens_cmd = { '/nowhere/buflens', 'lsp' }
  for _ = 1, 2 do
    vim.cmd.edit('planted-error.txt')
    vim.cmd.edit(vim.fn.glob('module_0001.smallest.*'))
  end
  t.wait('it is told', function()
    return #t.messages > 0
  end)
  vim.wait(300)
  t.equal('once', #t.messages, 1)
  t.check('with what was tried', t.told('/nowhere/buflens'))
  t.check('and what helps', t.told('cargo install'))
  t.equal('no client', vim.lsp.get_clients(), {})
  t.equal('colours are there', vim.bo.syntax, 'xla-buffer-assignment')

  vim.cmd('BuflensPeak')
  t.check('a command says why it does nothing', t.told('no server is attached'))

  vim.cmd('checkhealth buflens')
  local health = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  t.check('health says so', health:find('ERROR the server was not found', 1, true) ~= nil, health)
  t.check('and of which dump', health:find('%(xla%-buffer%-assignment%) has no server') ~= nil, health)

  vim.g.buflens_cmd = nil
  vim.env.PATH = '/nowhere'
  vim.env.HOME = '/nowhere'
  local tried = vim.tbl_map(function(command)
    return command[1]
  end, require('buflens.server').candidates())
  t.equal('where it is looked for', { tried[1], tried[2] }, { 'buflens', '/nowhere/.cargo/bin/buflens' })
  t.equal('at last in the clone', tried[3], vim.env.BUFLENS_ROOT .. '/target/release/buflens')
end)
