--- Buffers that only show something: nothing in them is run, kept or saved, whatever it says.
local M = {}

---@class reverie.ScratchOptions
---@field name string What the buffer is called, behind `reverie://`.
---@field lines string[]
---@field filetype? string
---@field is_markdown? boolean Whether it gets the colours of Markdown.
---@field marks? [integer, string, integer?, integer?][] As of a `reverie.Look`.
---@field indent? integer Where a line that is too long goes on, from where it begins.
---@field is_beside? boolean It goes with what was shown last, which stays.

local namespace = vim.api.nvim_create_namespace('reverie.scratch')

--- A line of a buffer has no line feed in it.
---@param lines string[]
local function whole(lines)
  return vim.tbl_map(function(line)
    return (line:gsub('\n', ' '))
  end, lines)
end

---@param buffer integer
---@param lines string[]
---@param marks? [integer, string, integer?, integer?][]
function M.fill(buffer, lines, marks)
  local new = whole(lines)
  -- Whoever is in it stays where they are.
  if not vim.deep_equal(new, vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) then
    vim.bo[buffer].modifiable = true
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, new)
    vim.bo[buffer].modifiable = false
  end
  vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  for _, mark in ipairs(marks or {}) do
    local line, group, from, to = unpack(mark)
    local length = #(lines[line + 1] or '')
    vim.api.nvim_buf_set_extmark(buffer, namespace, line, math.min(from or 0, length), {
      end_col = math.min(to or length, length),
      hl_group = group,
      priority = 150,
    })
  end
end

--- Gives a buffer its name; one that had it and was only unloaded (`:bdelete`) is gone for good then.
---@param buffer integer
---@param name string
function M.name(buffer, name)
  local old = vim.fn.bufnr('^' .. name .. '$')
  if old > 0 and old ~= buffer then
    vim.api.nvim_buf_delete(old, { force = true })
  end
  vim.api.nvim_buf_set_name(buffer, name)
end

---@param options reverie.ScratchOptions
---@return integer buffer
function M.buffer(options)
  require('reverie.chat.render').define_highlights()
  local buffer = vim.api.nvim_create_buf(false, true)
  -- The number keeps it apart from others of its kind.
  vim.api.nvim_buf_set_name(buffer, ('reverie://%s/%d'):format(options.name, buffer))
  vim.bo[buffer].bufhidden = 'wipe'
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].modeline = false
  vim.bo[buffer].undolevels = -1
  M.fill(buffer, options.lines, options.marks)
  local filetype = options.filetype or 'reverie'
  local is_safe = filetype ~= 'markdown' or require('reverie.chat.highlight').is_safe(options.lines)
  vim.bo[buffer].filetype = is_safe and filetype or 'reverie'
  if options.is_markdown then
    local highlight = require('reverie.chat.highlight')
    for _, piece in ipairs(highlight.pieces(options.lines, true)) do
      highlight.paint(buffer, 0, piece)
    end
  end
  return buffer
end

--- `:help`; where no plug-in manager has made tags for it, the text itself.
---@param tag string
function M.help(tag)
  if pcall(vim.cmd.help, tag) then
    return
  end
  local text = vim.api.nvim_get_runtime_file('doc/reverie.txt', false)[1]
  local height = math.floor(vim.o.lines * 0.6)
  vim.cmd(('keepalt botright %dsview %s'):format(height, vim.fn.fnameescape(text)))
  vim.bo.filetype, vim.bo.buflisted, vim.bo.modifiable = 'help', false, false
  vim.fn.search(('\\V*%s*'):format(tag), 'cw')
  vim.cmd('normal! zt')
end

--- The window that what is shown next takes over, so that they do not pile up.
---@type integer?
local window

--- In a window of its own, which `q` closes.
---@param options reverie.ScratchOptions
---@return integer buffer
function M.open(options)
  local buffer = M.buffer(options)
  local is_free = window
    and not options.is_beside
    and vim.api.nvim_win_is_valid(window)
    and vim.api.nvim_win_get_tabpage(window) == vim.api.nvim_get_current_tabpage()
    and vim.bo[vim.api.nvim_win_get_buf(window)].filetype == 'reverie'
  if window and is_free then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd(('keepalt botright %dsplit'):format(math.max(8, math.floor(vim.o.lines * 0.4))))
    window = vim.api.nvim_get_current_win()
  end
  vim.wo.winfixbuf = false
  vim.api.nvim_win_set_buf(0, buffer)
  -- Of this buffer alone, whatever else the window shows later.
  local here = vim.wo[0][0]
  here.wrap, here.linebreak, here.breakindent = true, true, true
  here.breakindentopt = ('shift:%d'):format(options.indent or 2)
  here.foldenable = false
  vim.keymap.set('n', 'q', function()
    local this = vim.api.nvim_get_current_win()
    -- Back to where the user was; Neovim itself would choose a neighbour.
    vim.cmd('wincmd p')
    pcall(vim.api.nvim_win_close, this, false)
  end, { buffer = buffer, desc = 'Reverie: close' })
  return buffer
end

return M
