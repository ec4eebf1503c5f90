--- What several of the tests do with an editor, as its user.
local harness = require('harness')

local M = {}

--- What the plug-in tells and asks through `vim.notify`, `vim.ui.select` and `vim.ui.input` is kept instead of shown.
M.INIT = [[
  _G.told = {}
  vim.notify = function(words) table.insert(_G.told, words) end
  _G.asked = {}
  vim.ui.select = function(items, options, done)
    local names = vim.tbl_map(options.format_item or tostring, items)
    table.insert(_G.asked, { names = names, prompt = options.prompt, kind = options.kind })
    _G.choose = function(at) done(items[at], at and at or nil) end
  end
  vim.ui.input = function(options, done)
    _G.input = options.prompt
    _G.enter = done
  end
]]

M.ACCEPT = { permissions = { allow = { 'Edit', 'Write', 'MultiEdit', 'Bash' } } }
M.TWO = { ['a.txt'] = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n', ['b.txt'] = 'b\n' }

---@param editor harness.Editor
function M.quiet(editor)
  editor.model:always('extraction', 'Nothing.')
end

---@param editor harness.Editor
function M.box(editor)
  editor:wait('the box', function()
    return editor:lua('return vim.bo.filetype') == 'reverie-prompt'
      and editor:lua('return vim.fn.mode()') == 'i'
  end)
end

---@param editor harness.Editor
---@param text string
function M.prompt(editor, text)
  editor:keys('<C-\\><C-n>:Reverie chat<CR>')
  M.box(editor)
  editor:type(text)
  editor:keys('<C-s>')
end

--- All windows of the current tab page, by what they are for: `a.txt`, `chat`, `prompt`.
---@param editor harness.Editor
---@return string[]
function M.windows(editor)
  local names = editor:lua([[
    local names = {}
    for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(window))
      local kind = name:match('^reverie://(%a+)') or vim.fs.basename(name)
      table.insert(names, kind)
    end
    return names
  ]])
  table.sort(names)
  return names
end

---@param editor harness.Editor
---@param wanted string[]
function M.wait_windows(editor, wanted)
  local seen
  local there = pcall(editor.wait, editor, 'the windows', function()
    seen = M.windows(editor)
    return vim.deep_equal(seen, wanted)
  end)
  if not there then
    harness.equal(seen, wanted)
  end
end

---@param editor harness.Editor
---@param words string
function M.wait_told(editor, words)
  editor:wait('told, ' .. words, function()
    return table.concat(editor:lua('return _G.told'), '\n'):find(words, 1, true)
  end)
end

---@param editor harness.Editor
function M.answered(editor)
  editor.model:reply('It is answered.')
  M.prompt(editor, 'Say something')
  editor:wait_screen('It is answered.')
  editor:wait('the end of the turn', function()
    return editor:lua('return require("reverie.chat").current().turn == nil')
  end)
end

--- A question takes no answer in its first moment.
---@param editor harness.Editor
---@param key string
function M.answer(editor, key)
  editor:wait('an answer that is taken', function()
    if M.asks(editor) > 0 then
      editor:keys(key)
    end
    return M.asks(editor) == 0
  end)
end

---@param editor harness.Editor
function M.asks(editor)
  return editor:lua('return require("reverie.asks").count()')
end

return M
