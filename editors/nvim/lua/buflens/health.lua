-- :checkhealth buflens
local server = require('buflens.server')

local M = {}

local function check_server()
  vim.health.start('Buflens: the server')
  for _, command in ipairs(server.candidates()) do
    if vim.fn.executable(command[1]) == 1 then
      local path = vim.fn.exepath(command[1])
      local ok, run = pcall(function()
        return vim.system({ command[1], '--version' }, { text = true, timeout = 5000 }):wait()
      end)
      local version = ok and vim.trim(run.stdout or '') or ''
      if ok and run.code == 0 and version:find('^buflens ') then
        vim.health.ok(('%s: %s'):format(version, path))
      else
        vim.health.error(('%s does not answer as Buflens does'):format(path), 'vim.g.buflens_cmd may name another one')
      end
      return
    end
    vim.health.info('not there: ' .. command[1])
  end
  vim.health.error('the server was not found', {
    '`cargo install --path server` in a clone of Buflens puts it below ~/.cargo/bin',
    "or name it: vim.g.buflens_cmd = { '/path/to/buflens', 'lsp' }",
  })
end

local function check_clients()
  vim.health.start('Buflens: buffers')
  local clients = vim.lsp.get_clients({ name = 'buflens' })
  for _, client in ipairs(clients) do
    local info = client.server_info or {}
    vim.health.ok(('client %d, version %s'):format(client.id, info.version or '?'))
    for bufnr in pairs(client.attached_buffers) do
      vim.health.info(('%s (%s)'):format(vim.api.nvim_buf_get_name(bufnr), vim.bo[bufnr].filetype))
    end
    local commands = vim.tbl_get(client.server_capabilities or {}, 'executeCommandProvider', 'commands') or {}
    if not vim.list_contains(commands, 'buflens.peak') then
      vim.health.warn('this server does not know the commands (:BuflensPeak and others) yet')
    end
  end
  if #clients > 0 then
    return
  end
  local filetypes = vim.lsp.config.buflens.filetypes
  local dumps = vim.tbl_filter(function(bufnr)
    return vim.api.nvim_buf_is_loaded(bufnr) and vim.list_contains(filetypes, vim.bo[bufnr].filetype)
  end, vim.api.nvim_list_bufs())
  for _, bufnr in ipairs(dumps) do
    vim.health.warn(('%s (%s) has no server'):format(vim.api.nvim_buf_get_name(bufnr), vim.bo[bufnr].filetype))
  end
  if #dumps == 0 then
    vim.health.info('no dump is open')
  end
end

function M.check()
  vim.health.start('Buflens: Neovim')
  if vim.fn.has('nvim-0.11') == 0 then
    vim.health.error(('version %s is too old; Buflens needs 0.11 or newer'):format(tostring(vim.version())))
    return
  end
  vim.health.ok(('version %s'):format(tostring(vim.version())))
  if vim.lsp.is_enabled and not vim.lsp.is_enabled('buflens') then
    vim.health.error('the configuration `buflens` is not enabled', "vim.lsp.enable('buflens')")
  end
  check_server()
  check_clients()
end

return M
