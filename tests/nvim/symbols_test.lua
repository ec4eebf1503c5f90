-- What the agent asks the editor: symbols of other language servers, and columns as both count them.

local harness = require('harness')
local user = require('user')

--- Another language server in every buffer, one that answers with these symbols or never, and what was notified.
local OTHER = [[
  _G.told = {}
  vim.notify = function(words) table.insert(_G.told, words) end
  local place = { start = { line = 0, character = 0 }, ['end'] = { line = 9, character = 0 } }
  local name = { start = { line = 3, character = 4 }, ['end'] = { line = 3, character = 8 } }
  _G.symbols = {
    ['textDocument/documentSymbol'] = {
      { name = 'outer', kind = 5, range = place, selectionRange = name, children = {
        { name = 'inner', kind = 12, range = place, selectionRange = name },
      } },
    },
    ['workspace/symbol'] = { { name = 'far', kind = 12, location = { uri = 'file:///far.lua' } } },
  }
  _G.start_other = function()
    vim.lsp.start({ name = 'other', cmd = function()
      return {
        request = function(method, _, callback)
          if method == 'initialize' then
            callback(nil, { capabilities = { documentSymbolProvider = true, workspaceSymbolProvider = true } })
          else
            callback(nil, _G.symbols[method])
          end
          return true, 1
        end,
        notify = function() return true end,
        is_closing = function() return false end,
        terminate = function() end,
      }
    end })
  end
  _G.ask_symbols = function(params)
    local answer
    coroutine.wrap(function() answer = require('reverie.buffers').symbols(params) end)()
    vim.wait(1000, function() return answer ~= nil end, 5)
    return answer or 'no answer'
  end
]]

harness.test(
  'symbols come from the other language servers, wherever the focus is, and at once where there are none',
  { files = { ['a.lua'] = 'print(1)\n', ['b.lua'] = 'print(2)\n' }, init = OTHER },
  function(editor)
    editor:open('a.lua')
    editor:keys(':Reverie chat<CR>')
    user.box(editor)
    editor:wait('the server in the buffer', function()
      return editor:lua(
        "return #vim.lsp.get_clients({ bufnr = vim.fn.bufnr('a.lua'), name = 'reverie' }) == 1"
      )
    end)
    local a, b =
      vim.uri_from_fname(editor.workspace .. '/a.lua'), vim.uri_from_fname(editor.workspace .. '/b.lua')
    local function symbols(params)
      return editor:lua('return _G.ask_symbols(...)', params)
    end
    harness.equal(symbols({ query = 'far' }), { symbols = {} })
    harness.equal(symbols({ uri = a }), { symbols = {} })
    editor:keys('<C-\\><C-n>')
    editor:command('wincmd t')
    editor:lua('_G.start_other()')
    editor:keys(':Reverie chat<CR>')
    user.box(editor)
    local place = { start = { line = 0, character = 0 }, ['end'] = { line = 9, character = 0 } }
    local name = { start = { line = 3, character = 4 }, ['end'] = { line = 3, character = 8 } }
    local nowhere = { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 0 } }
    harness.equal(symbols({ uri = a }), {
      symbols = {
        { name = 'outer', kind = 5, uri = a, range = place, selectionRange = name },
        { name = 'inner', kind = 12, uri = a, range = place, selectionRange = name, container = 'outer' },
      },
    })
    harness.equal(symbols({ query = 'far' }), {
      symbols = { { name = 'far', kind = 12, uri = 'file:///far.lua', range = nowhere } },
    })
    harness.equal(symbols({ uri = b }), { symbols = {} }, 'a file that is not loaded')
    harness.equal(editor:lua('return _G.told'), {})
  end
)

harness.test('columns are counted as the server counts', {}, function(editor)
  local COLUMN = "return require('reverie.encoding').column(...)"
  -- Two bytes, three bytes, four bytes; in UTF-16 one unit, one, two.
  local text = 'é日😀x'
  harness.equal(editor:lua(COLUMN, text, 9, 'utf-8'), 9)
  harness.equal(editor:lua(COLUMN, text, 9, 'utf-16'), 4)
  harness.equal(editor:lua(COLUMN, text, 9, 'utf-32'), 3)
  harness.equal(editor:lua(COLUMN, text, 99, 'utf-16'), 5)
end)
