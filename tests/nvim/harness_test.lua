-- The harness itself: what the other tests rely on is true of a real Neovim, with and without our plugin.

local harness = require('harness')
local processes = require('harness.processes')

-- A plain client of `vim.lsp`, so that these tests need nothing of the plugin.
local CLIENT = [[
  _G.ended = nil
  vim.lsp.start({
    name = 'plain',
    cmd = { 'reverie', 'lsp' },
    root_dir = vim.fn.getcwd(),
    capabilities = { experimental = { reverie = { version = 1 } } },
    handlers = {
      ['reverie/session/update'] = function(_, params)
        if params.update.kind == 'turnEnd' then _G.ended = params.update.stopReason end
      end,
    },
  })
]]
local REQUEST = [[
  local method, params = ...
  local client = vim.lsp.get_clients({ name = 'plain' })[1]
  local ask = vim.fn.has('nvim-0.11') == 1 and function(...) return client:request_sync(...) end or client.request_sync
  local answer = assert(ask(method, params, 10000))
  return answer.result or error(answer.err.message)
]]

local function connect(editor)
  editor:lua(CLIENT)
  editor:wait('the server', function()
    return editor:lua(
      "local client = vim.lsp.get_clients({ name = 'plain' })[1] return client and client.initialized"
    )
  end)
end

harness.test('keys arrive in a buffer, and what is drawn is seen', {
  files = { ['greeting.txt'] = 'hello\n' },
  plugin = false,
}, function(editor)
  editor:open('greeting.txt')
  editor:keys('Goa <lt> b<Esc>')
  editor:wait_screen('a < b')
  editor:type('otyped <Esc> as text')
  editor:keys('<Esc>')
  editor:wait_screen('typed <Esc> as text')
  editor:paste(' pasted')
  harness.equal(editor:lines('greeting.txt'), { 'hello', 'a < b', 'typed <Esc> as text pasted' })
  harness.equal(editor:on_disk('greeting.txt'), 'hello\n')
  harness.equal(editor.screen.cursor.row, 3)
end)

harness.test('trust is kept in the home of the test', { plugin = false }, function(editor)
  local kept = processes.read(editor.home .. '/.claude/reverie-trust.json')
  harness.contains(assert(kept, 'nothing was kept'), editor.workspace)
end)

harness.test(
  'nobody has given trust that was not wanted',
  { plugin = false, untrusted = true },
  function(editor)
    harness.equal(processes.read(editor.home .. '/.claude/reverie-trust.json'), nil)
  end
)

harness.test(
  'scrolling, floats, wide letters and styles are drawn as a terminal draws them',
  { plugin = false },
  function(editor)
    editor:lua([[
    local lines = {}
    for number = 1, 200 do lines[number] = 'line ' .. number end
    vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
  ]])
    editor:keys('50<C-e>')
    editor:wait_screen('line 51')
    harness.equal(editor.screen:lines()[1], 'line 51')
    editor:keys('3<C-y>')
    editor:wait_screen('line 48')
    harness.equal(vim.list_slice(editor.screen:lines(), 1, 4), { 'line 48', 'line 49', 'line 50', 'line 51' })
    editor:lua([[
    vim.api.nvim_set_hl(0, 'Loud', { bold = true, fg = '#ff0000' })
    local buffer = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, { '日本 float' })
    vim.api.nvim_buf_add_highlight(buffer, -1, 'Loud', 0, 7, -1)
    vim.api.nvim_open_win(buffer, false, { relative = 'editor', row = 5, col = 10, width = 20, height = 1, border = 'single' })
  ]])
    editor:wait_screen('│日本 float')
    local style = assert(editor.screen:style_of('float'))
    harness.equal({ style.bold, style.foreground }, { true, 0xff0000 })
  end
)

harness.test(
  'a Neovim that waits for a key says so at once, and goes on after it',
  { plugin = false },
  function(editor)
    editor:keys([[:echo "one\ntwo"<CR>]])
    editor:wait_screen('Press ENTER')
    local fine, failure = pcall(editor.lua, editor, 'return 1')
    harness.equal(fine, false)
    harness.contains(tostring(failure), 'waits for a key, in mode r')
    editor:keys('<CR>')
    editor:wait_gone('Press ENTER')
    harness.equal(editor:lua('return 6 * 7'), 42)
  end
)

harness.test('a turn comes as far as its gate, and on when it is opened', { plugin = false }, function(editor)
  connect(editor)
  editor.model:reply_text('one two three', { pauses = { { 3, 'middle' } } })
  local session = editor:lua(REQUEST, 'reverie/session/new', { cwd = editor.workspace }).sessionId
  editor:lua(
    REQUEST,
    'reverie/session/prompt',
    { sessionId = session, prompt = { { type = 'text', text = 'Count.' } } }
  )
  editor.model:reached('middle')
  harness.equal(editor:lua('return _G.ended'), nil)
  editor.model:open('middle')
  editor:wait('the end of the turn', function()
    return editor:lua('return _G.ended')
  end)
  harness.contains(editor.model:requests('main')[1].last, 'Count.')
end)

harness.test(
  'a server that was killed is gone, and another one can be started',
  { plugin = false, width = 200 },
  function(editor)
    connect(editor)
    local first = editor:kill_server()
    harness.equal(editor:servers(), {})
    editor:wait('the end of the client', function()
      return editor:lua("return #vim.lsp.get_clients({ name = 'plain' })") == 0
    end)
    connect(editor)
    harness.equal(editor:server(first) ~= first, true)
  end
)
