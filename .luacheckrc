std = 'luajit'
-- `vim` is read, and its tables of options and variables are written.
read_globals = { vim = { other_fields = true, fields = { lsp = { other_fields = true, fields = { commands = { read_only = false, other_fields = true } } } } } }
globals = { 'vim.g', 'vim.b', 'vim.w', 'vim.t', 'vim.o', 'vim.bo', 'vim.wo', 'vim.go', 'vim.opt', 'vim.opt_local', 'vim.env', 'vim.v' }
-- The formatter's business, which leaves long strings alone.
max_line_length = false
-- Methods and callbacks take what they are given.
self = false
ignore = { '212/_.*' }
-- Types, no code.
exclude_files = { 'nvim/lua/reverie/_meta', 'tests/nvim/types' }
-- Scripts of `nvim -l`.
files['tests/nvim'] = { read_globals = { 'arg' } }
