-- A server that crashes.
local t = require('support')

local function killed()
  local client = t.wait('a server runs', function()
    local client = vim.lsp.get_clients({ name = 'buflens', bufnr = 0 })[1]
    return client and client.initialized and not client:is_stopped() and client
  end)
  local pid = tonumber(vim.fn.readfile('pid')[1])
  vim.uv.kill(pid, 'sigkill')
  t.wait('it is gone', function()
    return vim.lsp.get_client_by_id(client.id) == nil
  end)
end

t.test(function()
  vim.g.buflens_cmd = { 'sh', '-c', 'echo $$ >pid; exec "$0" lsp', vim.env.BUFLENS_BINARY }
  t.open('planted-error.txt')
  killed()
  killed()
  t.equal('nothing is told about two crashes', t.messages, {})
  killed()
  t.wait('three are told', function()
    return t.messages[1]
  end)
  vim.wait(500)
  t.equal('once', #t.messages, 1)
  t.check('clearly', t.told('the server stopped 3 times'))
  t.equal('and no more are started', vim.lsp.get_clients({ name = 'buflens' }), {})
  vim.cmd.edit()
  t.open('planted-error.txt')

  -- A program that is none: it ends at once, each time.
  t.messages = {}
  vim.lsp.enable('buflens', false)
  t.wait('stopped', function()
    return #vim.lsp.get_clients({ name = 'buflens' }) == 0
  end)
  vim.g.buflens_cmd = { 'false' }
  vim.lsp.enable('buflens')
  t.wait('it is told', function()
    return t.messages[1]
  end)
  vim.wait(1000)
  t.equal('once', #t.messages, 1)
  vim.cmd('checkhealth buflens')
  local health = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  t.check('health says that it is another program', health:find('does not answer as Buflens does', 1, true) ~= nil, health)
end)
