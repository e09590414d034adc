runtime! syntax/xla-buffer-assignment.vim
