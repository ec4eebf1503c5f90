-- All that runs at start-up: the command and the mappings. The rest is loaded when one of them is used.
if vim.g.loaded_reverie then
  return
end
vim.g.loaded_reverie = true

vim.api.nvim_create_user_command('Reverie', function(call)
  require('reverie.commands').run(call)
end, {
  nargs = '*',
  range = true,
  desc = 'Reverie: chat, ask, review, memory, …',
  complete = function(...)
    return require('reverie.commands').complete(...)
  end,
})

for _, name in ipairs({ 'chat', 'stop', 'answer', 'review', 'keep', 'reject', 'memory', 'remember' }) do
  vim.keymap.set('n', '<Plug>(reverie-' .. name .. ')', '<Cmd>Reverie ' .. name .. '<CR>')
end
vim.keymap.set('n', '<Plug>(reverie-ask)', '<Cmd>Reverie ask<CR>')
-- With a range, which `<Cmd>` would lose.
vim.keymap.set('x', '<Plug>(reverie-ask)', ':Reverie ask<CR>', { silent = true })
vim.keymap.set('x', '<Plug>(reverie-remember)', ':Reverie remember<CR>', { silent = true })
