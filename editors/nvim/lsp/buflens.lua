-- The configuration of the language server, for |vim.lsp.enable()|. Change it with
-- vim.lsp.config('buflens', { settings = { buflens = { ... } } }); see :help buflens-settings.
local server = require('buflens.server')

return {
  cmd = server.start,
  filetypes = { 'xla-buffer-assignment', 'xla-memory-report', 'hlo' },
  -- A dump is a few files of one folder, wherever they are: one server for all, without a root.
  root_dir = function(_, on_dir)
    if server.found() then
      on_dir()
    end
  end,
  before_init = function(params, config)
    params.initializationOptions = (config.settings or {}).buflens
  end,
  settings = { buflens = {} },
}
