-- Only what has to be there before the first dump is opened. An older Neovim is told about by the ftplugin.
if vim.g.loaded_buflens or vim.fn.has('nvim-0.11') == 0 then
  return
end
vim.g.loaded_buflens = true

vim.lsp.enable('buflens')

-- Code lenses: a click, or |vim.lsp.codelens.run()|, shows what the command of the same name does.
for _, name in ipairs({ 'peak', 'whatIf', 'valueAtOffset', 'padding', 'donation', 'copies' }) do
  vim.lsp.commands['buflens.' .. name] = function(command, context)
    require('buflens.commands').lens(command, context)
  end
end

-- From a file of source to the dumps; all other commands are those of a buffer with a dump.
vim.api.nvim_create_user_command('BuflensWhere', function(given)
  require('buflens.commands').where(given)
end, { range = true, desc = 'The values that these lines of source made' })

vim.api.nvim_create_autocmd('LspAttach', {
  group = vim.api.nvim_create_augroup('buflens', {}),
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if client and client.name == 'buflens' then
      require('buflens.buffer').attached(event.buf, client)
    end
  end,
})
