--- Words for the user that come unasked. Neovim's own way of showing them stops everything with "Press ENTER" if they do
--- not fit into one line; whatever else the user has for them gets them whole.
local M = {}

---@type table<'info'|'warning'|'error', integer>
local LEVELS = { info = vim.log.levels.INFO, warning = vim.log.levels.WARN, error = vim.log.levels.ERROR }

--- As long as one line has room for.
---@param words string
---@return string
local function in_one_line(words)
  words = words:gsub('%s+', ' ')
  local room = vim.v.echospace
  if vim.fn.strdisplaywidth(words) <= room then
    return words
  end
  words = vim.fn.strcharpart(words, 0, room)
  while vim.fn.strdisplaywidth(words) >= room do
    words = vim.fn.strcharpart(words, 0, vim.fn.strchars(words) - 1)
  end
  return words .. '…'
end

--- Whether nobody has put something else in its place. A plug-in may have put a table there that can be called.
---@param notify any
---@return boolean
local function is_neovims(notify)
  if type(notify) ~= 'function' then
    return false
  end
  local source = assert(debug.getinfo(notify, 'S')).source
  -- What comes with Neovim has no source in some versions.
  return source:find('vim/_', 1, true) ~= nil or source:find('?', 1, true) ~= nil
end

---@param level 'info'|'warning'|'error'
---@param words string
local function tell(level, words)
  words = 'Reverie: ' .. words:gsub('%z', ' ')
  local function show()
    local text = is_neovims(vim.notify) and in_one_line(words) or words
    -- Whoever tells something goes on, whatever the user's own way of showing it does.
    local shown, problem = pcall(vim.notify, text, LEVELS[level], { title = 'Reverie' })
    if not shown then
      vim.lsp.log.error('reverie: this could not be told', words, problem)
    end
  end
  if vim.v.vim_did_enter == 0 then
    -- An error while Neovim starts would hold it up.
    vim.api.nvim_create_autocmd('VimEnter', { once = true, callback = vim.schedule_wrap(show) })
  else
    show()
  end
end

---@param words string
function M.info(words)
  tell('info', words)
end

---@param words string
function M.warn(words)
  tell('warning', words)
end

---@param words string
function M.error(words)
  tell('error', words)
end

--- What Neovim says about a command of its own that failed, without the places in its code.
---@param problem any
---@return string
function M.reason(problem)
  local words = tostring(problem)
  return words:match('E%d+: [^\n]*') or words
end

return M
