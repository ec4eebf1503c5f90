--- Reverie: an agent that lives in the editor and remembers. All of this is optional; `:Reverie` works without it.
local M = {}

--- Options; see |reverie-options|. `vim.g.reverie` does the same.
---@param options? table
function M.setup(options)
  require('reverie.config').set(options)
end

--- Opens the chat.
function M.chat()
  require('reverie.commands').table.chat.run('', {})
end

--- Asks something in the chat, without going there.
---@param question string
function M.ask(question)
  require('reverie.commands').table.ask.run(question, { range = 0 })
end

--- For a statusline: what the agent is at. Empty while it is not in use.
---@return string
function M.statusline()
  return require('reverie.statusline').component()
end

return M
