-- Memory in the text: what the agent knows is seen in the files themselves, and checked against them.

local harness = require('harness')
local user = require('user')

local function memory(name, words)
  return ('---\nname: %s\ndescription: %s\ntype: project\n---\n\n%s.\n'):format(name, words, words)
end

local OPTIONS = {
  files = {
    ['src/auth.lua'] = 'local M = {}\n\nfunction M.login()\nend\n\nreturn M\n',
    ['src/other.lua'] = 'return 1\n',
  },
  memories = {
    ['login.md'] = memory('Login', 'Nobody logs in twice, see `src/auth.lua`'),
    ['MEMORY.md'] = '- [Login](login.md) — once\n- [Gone](gone.md) — is not there\n',
  },
  init = user.INIT,
}

---@param editor harness.Editor
local function start(editor)
  editor:command('Reverie chat')
  editor:wait('the server', function()
    return editor:lua('return require("reverie.client").state') == 'running'
  end)
  editor:keys('<C-\\><C-n>:lua require("reverie.chat.window").close()<CR>')
  editor:wait('the user alone', function()
    return #user.windows(editor) == 1
  end)
end

--- What is announced for a file is announced a moment after the start.
---@param editor harness.Editor
---@param method string
local function ready(editor, method)
  editor:wait(method, function()
    return editor:lua(
      [[
        local client = require('reverie.client').get()
        if vim.fn.has('nvim-0.11') == 1 then
          return client:supports_method(..., vim.api.nvim_get_current_buf())
        end
        return client.supports_method(..., { bufnr = vim.api.nvim_get_current_buf() })
      ]],
      method
    )
  end)
end

---@param editor harness.Editor
---@param name string
local function open_memory(editor, name)
  editor:command('edit ' .. vim.fn.fnameescape(editor.project .. '/memory/' .. name))
end

--- Chooses the code action that has this word in its title.
---@param editor harness.Editor
---@param word string
local function act(editor, word)
  ready(editor, 'textDocument/codeAction')
  editor:command('lua vim.lsp.buf.code_action()')
  editor:wait('the actions', function()
    return #editor:lua('return _G.asked') > 0
  end)
  local names = editor:lua('return _G.asked[#_G.asked].names')
  for at, name in ipairs(names) do
    if name:lower():find(word, 1, true) then
      return editor:lua('_G.choose(...)', at)
    end
  end
  error(vim.inspect(names))
end

harness.test('a file that a memory names says so, and shows the memory on hover', OPTIONS, function(editor)
  editor:open('src/auth.lua')
  start(editor)
  editor:wait_screen('◆ 1 memory')
  editor:keys('gg')
  ready(editor, 'textDocument/hover')
  editor:command('lua vim.lsp.buf.hover()')
  editor:wait_screen('Nobody logs in twice')
  editor:keys('j')
  editor:open('src/other.lua')
  editor:wait_gone('◆ 1 memory')
end)

harness.test('with the option off nothing stands in the text', {
  files = OPTIONS.files,
  memories = OPTIONS.memories,
  init = user.INIT .. 'vim.g.reverie = { inline = { memory = false } }',
}, function(editor)
  editor:open('src/auth.lua')
  start(editor)
  ready(editor, 'textDocument/hover')
  editor:command('lua vim.lsp.buf.hover()')
  editor:wait_screen('Nobody logs in twice')
  harness.lacks(editor.screen:text(), '◆ 1 memory')
end)

harness.test('a dead link of the index is marked, and a quick fix takes it away', OPTIONS, function(editor)
  open_memory(editor, 'MEMORY.md')
  start(editor)
  editor:lua('vim.diagnostic.config({ virtual_text = true })')
  editor:wait_screen('gone.md')
  editor:wait('the finding', function()
    return editor:lua('return #vim.diagnostic.get(0)') == 1
  end)
  editor:keys('2G')
  act(editor, 'remove')
  editor:wait('the link to be gone', function()
    return vim.deep_equal(editor:lines('MEMORY.md'), { '- [Login](login.md) — once' })
  end)
end)

harness.test('a memory says how it is used, and is stale when its file has gone', OPTIONS, function(editor)
  -- Which 0.10 shows by itself, and before the lens.
  editor:lua('vim.diagnostic.config({ virtual_text = false })')
  open_memory(editor, 'login.md')
  start(editor)
  editor:wait('the lens', function()
    return editor.screen:text():find('recalled', 1, true) or editor.screen:text():find('undo', 1, true)
  end)
  assert(vim.uv.fs_unlink(editor.workspace .. '/src/auth.lua'))
  editor:wait_screen('stale')
  editor:wait('the finding', function()
    return editor:lua('return #vim.diagnostic.get(0)') > 0
  end)
end)

harness.test('renaming a memory takes its entry in the index along', OPTIONS, function(editor)
  open_memory(editor, 'MEMORY.md')
  start(editor)
  editor:keys('1G')
  editor:command('call search("login.md")')
  ready(editor, 'textDocument/rename')
  editor:command('lua vim.lsp.buf.rename("sign-in.md")')
  editor:wait('the entry', function()
    return (editor:lines('MEMORY.md')[1] or ''):find('sign-in.md', 1, true)
  end)
  editor:wait('the file', function()
    return vim.uv.fs_stat(editor.project .. '/memory/sign-in.md')
  end)
end)

harness.test('something can be remembered about a place in the code', OPTIONS, function(editor)
  editor:open('src/other.lua')
  start(editor)
  act(editor, 'remember')
  editor:wait('the question', function()
    return editor:lua('return _G.input') == 'Remember about this: '
  end)
  editor:lua('_G.enter("It is always one")')
  user.wait_told(editor, 'remembered in')
  editor:wait_screen('◆ 1 memory')
end)

harness.test(
  'what has just happened stands at its place, and undo there takes that back',
  OPTIONS,
  function(editor)
    editor:open('src/other.lua')
    start(editor)
    act(editor, 'remember')
    editor:wait('the question', function()
      return editor:lua('return _G.input') == 'Remember about this: '
    end)
    editor:lua('_G.enter("It is always one")')
    user.wait_told(editor, 'remembered in')
    editor:wait_screen('◆ Remembered: It is always one')
    local path = vim.fn.glob(editor.project .. '/memory/*one*.md')
    assert(path ~= '' and not path:find('\n'), path)
    -- The latest change is another.
    editor:lua([[
      _G.written = nil
      require('reverie.client').ask('reverie/memory/write', { path = 'later.md', content = 'later' }, function()
        _G.written = true
      end)
    ]])
    editor:wait('the other memory', function()
      return editor:lua('return _G.written')
    end)
    editor:keys('gg:Reverie memory undo<CR>')
    editor:wait('it to be taken back', function()
      return vim.uv.fs_stat(path) == nil
    end)
    editor:wait_gone('◆ Remembered')
    assert(vim.uv.fs_stat(editor.project .. '/memory/later.md'), 'the latest change stays')
  end
)
