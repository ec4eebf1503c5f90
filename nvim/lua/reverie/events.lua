--- Tells users' own configuration what happens: `User` autocommands whose pattern begins with `Reverie`, the details in
--- `data`.
local M = {}

---@param name string
---@param data? table
function M.emit(name, data)
  vim.api.nvim_exec_autocmds('User', { pattern = 'Reverie' .. name, data = data, modeline = false })
end

return M
