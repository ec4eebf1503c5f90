-- For `vim.lsp.enable('reverie')` (Neovim 0.11 and later), which starts the server with the first file instead of the
-- first `:Reverie`. Both use the same client.
return require('reverie.client').config()
