--- A real Neovim with the plugin, the real server and the scripted model: everything in a fresh folder, everything on
--- 127.0.0.1, and nothing of it outlives its test.
---
---   local harness = require('harness')
---
---   harness.test('a question is answered', { files = { ['a.txt'] = 'one\n' } }, function(editor)
---     editor.model:reply('Hello.')
---     editor:open('a.txt')
---     editor:keys(':Reverie chat<CR>')
---     editor:wait_screen('Hello.')
---   end)
---
--- `run.lua` runs such a file; `cargo xtask nvim` runs all of them, in every Neovim that is supported.

local Editor = require('harness.editor')
local wait = require('harness.wait')

local M = { wait = wait.until_true }

---@class harness.Test
---@field name string
---@field options harness.Options
---@field body fun(editor: harness.Editor)

---@type harness.Test[]
local tests = {}

--- A test with an editor of its own.
---@param name string what is true, in words
---@param options harness.Options
---@param body fun(editor: harness.Editor)
function M.test(name, options, body)
  table.insert(tests, { name = name, options = options, body = body })
end

--- Fails unless both are the same, tables by what they hold.
---@param actual any
---@param expected any
---@param what? string
function M.equal(actual, expected, what)
  if not vim.deep_equal(actual, expected) then
    local words = what and what .. ': ' or ''
    error(('%sexpected %s\nbut it is %s'):format(words, vim.inspect(expected), vim.inspect(actual)), 2)
  end
end

--- Fails unless the text holds the part, which is no pattern.
---@param text string
---@param part string
function M.contains(text, part)
  if not text:find(part, 1, true) then
    error(('%s is not in this:\n%s'):format(vim.inspect(part), text), 2)
  end
end

--- Fails if the text holds the part, which is no pattern.
---@param text string
---@param part string
function M.lacks(text, part)
  if text:find(part, 1, true) then
    error(('%s is in this:\n%s'):format(vim.inspect(part), text), 2)
  end
end

--- Runs the tests that were told so far and have this in their name; how many failed.
---@param places harness.Places
---@param filter string
---@return integer
function M.run(places, filter)
  local failures, ran = 0, 0
  for _, test in ipairs(tests) do
    if test.name:find(filter, 1, true) then
      ran = ran + 1
      local started = vim.uv.hrtime()
      local problems = M.run_one(places, test)
      local time = ('%.1f s'):format((vim.uv.hrtime() - started) / 1e9)
      io.stdout:write(('%s %s (%s)\n'):format(#problems == 0 and 'ok    ' or 'FAILED', test.name, time))
      for _, problem in ipairs(problems) do
        io.stdout:write('  ', (problem:gsub('\n', '\n  ')), '\n')
      end
      failures = failures + math.min(#problems, 1)
    end
  end
  if ran == 0 then
    error('no test has this in its name: ' .. filter, 0)
  end
  return failures
end

---@private
---@param places harness.Places
---@param test harness.Test
---@return string[] # in words, with what is needed to understand them
function M.run_one(places, test)
  local editor
  local problems = {}
  local went_well, failure = xpcall(function()
    editor = Editor.start(places, test.options)
    test.body(editor)
  end, debug.traceback)
  if not went_well then
    table.insert(problems, tostring(failure))
    if editor then
      table.insert(problems, editor:evidence())
    end
  end
  if editor then
    vim.list_extend(problems, editor:finish(went_well))
  end
  return problems
end

return M
