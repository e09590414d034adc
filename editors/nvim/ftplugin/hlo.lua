vim.cmd.runtime('ftplugin/xla-buffer-assignment.lua')
